// The events of a run in memory, with levels of detail, for viewers, which ask again and again about any window of
// time.
//
// One thread at a time feeds the events of each lane in order, while any number of threads ask questions. A picture is
// never wider than its pixels, however many events it shows, and an occupied column is never missed: series/series.h
// has the arithmetic. Beyond the budget the oldest events are kept more coarsely; their sums stay exact.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "agent/lanes/format.h"
#include "server/timeline/questions/queries.h"
#include "server/timeline/tracks/numbers.h"
#include "server/timeline/tracks/tracks.h"

namespace castscope::timeline {

struct Budget {
  std::size_t bytes = std::size_t{512} << 20;
};

class Timeline {
 public:
  explicit Timeline(Budget budget = {});
  ~Timeline();

  // ---- events: by one thread at a time
  // Event times of a process are ns since its begin. A process that is fed without this call begins when the run does.
  void process_begin(store::ProcessId process, std::int64_t begin);
  // Steps and the cache belong to all lanes of a process together; they appear once settle() is called.
  void feed(const Numbers&, store::ProcessId process, std::uint32_t lane, std::span<const lanes::Event>);
  // Promises that no lane of the process will be fed anything that happened up to `time` (ns since the process's
  // begin).
  void settle(store::ProcessId process, std::int64_t time);
  void settle();  // all processes, as far as they were fed
  void gap(
      store::ProcessId process);  // some events of the process are missing here: open intervals end at its last time
  void end(store::ProcessId process);
  void end();

  // ---- questions: by any thread at any time
  std::vector<Track> tracks() const;  // by process, lane, kind, depth; then by device, stream
  std::vector<Shade> shades() const;  // by id
  Progress progress() const;
  // The stretches of a process whose events were not kept: [begin, end), in order.
  std::vector<std::pair<std::int64_t, std::int64_t>> not_kept(store::ProcessId process) const;
  // Returns a picture in the viewer's form: questions/picture_encoding.h.
  std::string picture(const PictureQuery&) const;
  // Returns the nearest event of a track that touches [at - within, at + within], of those that the
  // filter lets through; shade 0: of any shade.
  std::optional<FoundEvent> event_at(std::uint32_t track, std::int64_t at, std::int64_t within, std::uint8_t shade = 0,
                                     const Filter& filter = {}) const;
  // Returns the event that begins next after `at`, or last before it.
  std::optional<FoundEvent> neighbour(const NeighbourQuery&) const;
  // The summary goes track by track: in a run that goes on, later tracks may have got more events meanwhile.
  Summary summary(const SummaryQuery&) const;
  Durations durations(const DurationQuery&) const;  // track by track, too

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace castscope::timeline
