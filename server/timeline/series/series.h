// The intervals of one shade in one track, sorted in time.
//
// The cost of a picture of n columns does not depend on how many events the series has: for a chunk that lies in one
// column only its head is read. A chunk whose finest level is fine enough is read by at most two buckets a column. Any
// other chunk has more than kChunk / 2 buckets that are narrower than a column, so at most n / (kChunk / 2) such chunks
// lie entirely in the window, plus two at its ends, plus two that are wider than 2^16 columns: at most 2 n + 4 kChunk
// events. The tail that is not yet a chunk is read by one search a column.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "server/timeline/series/chunk.h"
#include "server/timeline/series/grid.h"
#include "server/timeline/series/holdings.h"

namespace castscope::timeline {

// Selects subjects.
struct Wanted {
  const std::vector<bool>* subjects = nullptr;  // null = all
  std::uint32_t subject = 0;                    // only this one; 0 = any
  bool all() const { return subjects == nullptr && subject == 0; }
  bool operator()(std::uint32_t id) const {
    if (subject != 0 && id != subject) return false;
    return subjects == nullptr || (id < subjects->size() && (*subjects)[id]);
  }
  enum class Some : std::uint8_t { kNone, kSome, kAll };
  Some of(const Chunk&) const;  // as far as the chunk knows its subjects; otherwise kSome
};

// Sums by subject. Where the single events of a chunk are gone, its totals count by the share of its time that lies in
// the window.
struct SeriesSum {
  bool by_subject = true;  // false: only `all` is known
  bool exact = true;
  Sum all;
  absl::flat_hash_map<std::uint32_t, Sum> subjects;
  void add(const Item&, std::int64_t from, std::int64_t to);
  // Adds the share of a chunk in [begin, end) whose single events are gone.
  void add_share(const Chunk&, std::int64_t begin, std::int64_t end, std::int64_t from, std::int64_t to, const Wanted&);
};

class Series {
 public:
  static constexpr std::size_t kChunk = 2048;

  explicit Series(std::uint8_t shade) : shade_(shade) {}
  std::uint8_t shade() const { return shade_; }
  void add(const Item&, Holdings&);  // an item never begins before the one added last

  std::size_t size() const { return heads_.size() * kChunk + tail_.size(); }  // of all items that were added
  bool touches(std::int64_t from, std::int64_t to) const;
  bool whole(std::int64_t from, std::int64_t to) const;  // all events there are still single events
  void paint(Painter&, const Wanted&) const;
  // Calls `take` for each item that is at least `ns` (and at least 1 ns) long and lies at least in part in [from, to).
  void each_as_long(std::int64_t from, std::int64_t to, std::int64_t ns, const Wanted&,
                    const std::function<void(const Item&)>& take) const;
  std::optional<Item> first_after(std::int64_t time, const Wanted&) const;  // the first that begins after `time`
  std::optional<Item> last_before(std::int64_t time, const Wanted&) const;  // the last that begins before `time`
  // Calls `take` for each item that lies at least in part in [from, to) and is still a single event. What others there
  // are is added to `gone`, which is exact only where none is. One call looks at some ten thousand items, from a place
  // on (0 at first), and returns where the next call has to go on; nothing = that was all.
  std::optional<std::size_t> each(std::int64_t from, std::int64_t to, const Wanted&,
                                  const std::function<void(const Item&)>& take, SeriesSum& gone,
                                  std::size_t place) const;
  void sum(std::int64_t from, std::int64_t to, const Wanted&, SeriesSum&) const;

 private:
  struct Head {  // the part of a chunk that most pictures read, side by side
    std::int64_t begin = 0, covered_to = 0;
    std::uint64_t busy = 0;
    std::int64_t longest = 0;  // duration
    std::unique_ptr<Chunk> chunk;
  };
  // The chunks and, behind them, the tail.
  std::size_t parts() const { return heads_.size() + 1; }
  std::size_t first_part(std::int64_t time) const;  // the first part that covers time after `time`
  const Chunk* chunk(std::size_t part) const { return part < heads_.size() ? heads_[part].chunk.get() : nullptr; }
  std::size_t size(std::size_t part) const;  // of the items that are still single
  Item item(std::size_t part, std::size_t i) const;
  std::size_t first_from(std::size_t part, std::int64_t time) const;
  std::size_t first_touching(std::size_t part, std::int64_t time) const;
  Wanted::Some wanted(std::size_t part, const Wanted&) const;
  void seal(Holdings&);
  void fetch_ahead(std::size_t part, unsigned k) const;
  void paint_tail(Painter&) const;
  void paint_wanted_tail(Painter&, const Wanted&) const;
  std::size_t own_memory() const;

  const std::uint8_t shade_;
  std::vector<Head> heads_;
  std::size_t without_items_ = 0;  // of the oldest chunks
  std::vector<Item> tail_;
  std::vector<std::uint64_t> busy_before_;  // for each item of the tail: ns that the items before it cover
};

}  // namespace castscope::timeline
