// The bytes that the autocast cache of one process held, over time: what was kept adds up, a clear takes all of it.
//
// Told in the order of time; what was kept before a clear and is told after it all the same counts no more. After a gap
// nothing is known until the next clear.
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
  void cleared(std::int64_t time, std::uint64_t bytes);  // it had held so many
  void gap(std::int64_t time);

  // The most in each column; kNotKnown: where nothing is known, and outside [begin, newest].
  std::vector<std::uint64_t> most(const Grid&, std::int64_t newest) const;
  bool begun() const { return !points_.empty(); }
  bool ever() const { return points_.size() > 1; }
  std::size_t memory() const { return points_.capacity() * sizeof(Point); }

 private:
  struct Point {  // from here on
    std::int64_t time;
    std::uint64_t bytes;
  };
  // 1 MB. Beyond that two neighbours become one, the higher, so that nothing above is missed.
  static constexpr std::size_t kMostPoints = 1u << 16;
  static constexpr std::uint64_t kGrain = 64;  // of what it came to since the last clear
  void add(std::int64_t time, std::uint64_t bytes);
  void thin();

  std::vector<Point> points_;  // sorted
  std::uint64_t now_ = 0;
  std::optional<std::int64_t> last_clear_;
};

}  // namespace castscope::timeline
