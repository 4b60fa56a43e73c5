#include "server/timeline/series/cache_counter.h"

#include <algorithm>

namespace castscope::timeline {

void CacheCounter::kept(std::int64_t time, std::uint64_t bytes) {
  if (now_ == kNotKnown || (last_clear_ && time < *last_clear_)) return;
  now_ += bytes;
  const std::uint64_t shown = points_.empty() || points_.back().bytes == kNotKnown ? 0 : points_.back().bytes;
  // Even the smallest kept copy is shown: a cache that holds something must not look empty.
  if (shown == 0 || now_ - shown >= now_ / kGrain) add(time, now_);
}

void CacheCounter::cleared(std::int64_t time, std::uint64_t bytes) {
  const bool empty = now_ == 0 && bytes == 0 && !points_.empty();
  if (!empty) {
    add(time, bytes);
    add(time, 0);
  }
  now_ = 0;
  last_clear_ = std::max(time, last_clear_.value_or(time));
}

void CacheCounter::gap(std::int64_t time) {
  if (now_ == kNotKnown) return;
  now_ = kNotKnown;
  add(time, kNotKnown);
}

void CacheCounter::add(std::int64_t time, std::uint64_t bytes) {
  if (!points_.empty()) time = std::max(time, points_.back().time);
  if (points_.size() == kMostPoints) thin();
  points_.push_back({time, bytes});
}

void CacheCounter::thin() {
  for (std::size_t i = 0; i < kMostPoints / 2; ++i) {
    const Point &a = points_[2 * i], &b = points_[2 * i + 1];
    const bool first = b.bytes == kNotKnown || (a.bytes != kNotKnown && a.bytes >= b.bytes);
    points_[i] = {a.time, first ? a.bytes : b.bytes};
  }
  points_.resize(kMostPoints / 2);
}

std::vector<std::uint64_t> CacheCounter::most(const Grid& grid, std::int64_t newest) const {
  std::vector<std::uint64_t> most(grid.columns, kNotKnown);
  const auto raise = [&](std::size_t column, std::uint64_t bytes) {
    if (bytes == kNotKnown) return;
    most[column] = most[column] == kNotKnown ? bytes : std::max(most[column], bytes);
  };
  auto point = std::upper_bound(points_.begin(), points_.end(), grid.first,
                                [](std::int64_t time, const Point& p) { return time < p.time; });
  if (point != points_.begin()) --point;
  for (; point != points_.end() && point->time < grid.end(); ++point) {
    const std::int64_t until = point + 1 == points_.end() ? newest : (point + 1)->time;
    const std::int64_t begin = std::max(point->time, grid.first), end = std::min(until, grid.end() - 1);
    if (end < grid.first) continue;
    for (std::size_t column = grid.column(begin); column <= grid.column(std::max(begin, end)); ++column) {
      raise(column, point->bytes);
    }
  }
  return most;
}

}  // namespace castscope::timeline
