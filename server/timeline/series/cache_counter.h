// The bytes that the autocast cache of one process held, over time: kept copies add up, and a clear removes all of
// them.
//
// The calls come in the order of time; a copy that was kept before a clear and is reported after it does not count.
// After a gap nothing is known until the next clear.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "server/timeline/series/grid.h"

namespace castscope::timeline {

class CacheCounter {
 public:
  static constexpr std::uint64_t kNotKnown = UINT64_MAX;

  void begin(std::int64_t time) { add(time, 0); }
  void kept(std::int64_t time, std::uint64_t bytes);
  void cleared(std::int64_t time, std::uint64_t bytes);  // the cache had held so many bytes
  void gap(std::int64_t time);

  // Returns the most bytes in each column; kNotKnown where nothing is known, and outside [begin, newest].
  std::vector<std::uint64_t> most(const Grid&, std::int64_t newest) const;
  bool begun() const { return !points_.empty(); }
  bool ever() const { return points_.size() > 1; }
  std::size_t memory() const { return points_.capacity() * sizeof(Point); }

 private:
  struct Point {  // the value from this time on
    std::int64_t time;
    std::uint64_t bytes;
  };
  // 1 MB. When there are more points, two neighbours become one with the higher value, so that no peak is lost.
  static constexpr std::size_t kMostPoints = 1u << 16;
  static constexpr std::uint64_t kGrain = 64;  // relative to the bytes since the last clear
  void add(std::int64_t time, std::uint64_t bytes);
  void thin();

  std::vector<Point> points_;  // sorted
  std::uint64_t now_ = 0;
  std::optional<std::int64_t> last_clear_;
};

}  // namespace castscope::timeline
