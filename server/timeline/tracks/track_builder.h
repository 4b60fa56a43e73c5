// Adds the events of each lane to their tracks. Whatever was dropped on the way, regions nest and times never go back
// within a lane.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "server/timeline/series/cache_counter.h"
#include "server/timeline/series/holdings.h"
#include "server/timeline/tracks/numbers.h"
#include "server/timeline/tracks/row.h"
#include "server/timeline/tracks/shades.h"

namespace castscope::timeline {

class TrackBuilder {
 public:
  explicit TrackBuilder(std::size_t budget) : tiles_budget_(budget / kTilesShare), holdings_(budget) {}

  void process_begin(store::ProcessId process, std::int64_t begin);
  void feed(const Numbers&, store::ProcessId process, std::uint32_t lane, std::span<const lanes::Event>);
  void settle(store::ProcessId process, std::int64_t time);
  void settle();
  void gap(store::ProcessId process);
  void end(store::ProcessId process);
  void end();

  const std::deque<Row>& rows() const { return rows_; }  // index = track id - 1
  const Row* steps_of(store::ProcessId process) const;   // null: the process has none
  // The stretches of the process within [from, to) whose events are missing: ns, all together.
  std::int64_t missing(store::ProcessId process, std::int64_t from, std::int64_t to) const;
  std::vector<std::pair<std::int64_t, std::int64_t>> missing(store::ProcessId process) const;
  const Row* regions_of(store::ProcessId process, std::uint32_t lane) const;
  void each_counter(const std::function<void(store::ProcessId process, const CacheCounter&)>& take) const;
  const Shades& shades() const { return shades_; }
  std::int64_t begin() const { return begin_; }
  std::int64_t newest() const { return newest_; }
  std::uint64_t events() const { return events_; }
  std::size_t memory() const;
  std::size_t tile_places() const;  // for one row

 private:
  struct Known {           // what a number of a process means
    std::uint32_t id = 0;  // run-wide, 0 = not known
    std::uint8_t shade = 0;
  };
  // A site's events are casts, hits or pass-throughs: each of these has its own shade.
  enum class Shown : std::uint8_t { kCast, kHit, kPass };
  using Numbered = absl::flat_hash_map<std::uint32_t, Known>;
  struct OpenRegion {
    std::uint32_t local;
    Known known;
    bool drawn = false;  // a part of it is in the track already
  };
  struct OpenModule {
    std::uint32_t prefix;  // its number in prefixes_
    Item item;             // so far
  };
  struct Lane {
    bool begun = false;
    // The last step in which the lane had an operator, and how often deep steps had begun or ended by then.
    std::pair<std::uint32_t, std::uint32_t> looked_in{UINT32_MAX, 0};
    std::int64_t last = 0;     // no later time may lie before it
    std::int64_t seen_to = 0;  // the end of operators included, whose events come last
    std::vector<OpenRegion> open;
    Row *casts = nullptr, *regions = nullptr, *marks = nullptr;
    std::vector<Row*> operators;  // by depth
    std::vector<Row*> modules;    // by level
    std::vector<OpenModule> in;   // the module that the lane is in, by level
    std::uint32_t in_step = 0;    // the step in which it is
  };
  // A change of the process rather than of one lane. Lanes are fed one after another, so it waits until all of them
  // have come to its time.
  struct Shared {
    std::int64_t time;
    std::uint64_t number;  // bytes, the step's number, or 1 where deep steps begin
    lanes::EventKind kind;
  };
  struct Process {
    std::int64_t begin = 0;
    std::vector<Shared> waiting;
    bool deep = false;                                           // all operators are observed at the moment
    std::uint32_t deep_changes = 0;                              // how often that has changed, in what was fed
    std::optional<std::int64_t> missing_since;                   // events were missing, and none has come yet
    std::vector<std::pair<std::int64_t, std::int64_t>> missing;  // stretches without their events
    Row* steps = nullptr;
    std::map<std::uint32_t, Lane> lanes;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<Row*>> streams;  // by device, number; by depth
    Numbered sites[3], regions, uses, kernels;                                     // sites by Shown
    absl::flat_hash_map<std::uint32_t, std::vector<std::uint32_t>> levels;         // of uses: see levels_of()
    CacheCounter cache;
  };
  struct Place {  // where an event belongs
    const Numbers& numbers;
    store::ProcessId process_id;
    std::uint32_t lane_id;
    Process& process;
    Lane& lane;
  };

  void add_event(Place&, const lanes::Event&);
  void begin_first_step(Place&, std::int64_t time, const lanes::Event&);
  void cast(Place&, std::int64_t time, const lanes::Event&);
  void served(Place&, std::int64_t time, const lanes::Event&, Shown);
  void enter(Place&, std::int64_t time, const lanes::Event&);
  void exit(Place&, std::int64_t time, const lanes::Event&);
  void settle(store::ProcessId id, Process&, std::int64_t time);
  void step(store::ProcessId id, Process&, std::int64_t time, std::uint32_t number);
  void deep(Process&, std::int64_t time, std::uint32_t number);
  void operate(Place&, const lanes::Event&);
  void work_in_module(Place&, const lanes::Event&, const Item& operation);
  void leave_modules(Lane&, std::size_t level);
  const std::vector<std::uint32_t>& levels_of(Place&, std::uint32_t use);
  void run_fed_kernels(Place&);
  void run(Place&, const lanes::Event& kernel);
  Row& free_row(Place&, const lanes::Event& kernel, std::int64_t begin);
  void mark(Place&, std::int64_t time, ShadeKind, std::uint32_t local, std::uint64_t bytes = 0);

  Known site(Place&, std::uint32_t local, Shown);
  Known region(Place&, std::uint32_t local);
  Known use(Place&, std::uint32_t local);
  Known kernel(Place&, std::uint32_t local);
  std::int64_t since_run_began(const Place&, std::uint64_t time) const;
  Row& row(Row*& known, store::ProcessId process, std::uint32_t lane, TrackKind, std::uint32_t depth = 0);
  void end_stretch(Lane&, std::int64_t time);
  void close_regions(Lane&, std::int64_t time);
  void close(Process&);
  void saw(Lane& lane, std::int64_t begin, std::int64_t end);

  // Painted tiles may take this part of the budget's size in addition to the budget.
  static constexpr std::size_t kTilesShare = 8;
  const std::size_t tiles_budget_;
  Holdings holdings_;
  Shades shades_;
  std::deque<Row> rows_;
  std::vector<const lanes::Event*> kernels_;  // of the events that are being fed; a member so that its memory is reused
  std::map<store::ProcessId, Process> processes_;
  absl::flat_hash_map<std::string, std::uint32_t> prefixes_;  // of modules' paths, numbered as they come
  std::int64_t begin_ = INT64_MAX, newest_ = 0;
  std::uint64_t events_ = 0;
};

}  // namespace castscope::timeline
