#include "server/timeline/series/grid.h"

#include <bit>

namespace castscope::timeline {

Grid Grid::of(std::int64_t from, std::int64_t to, std::uint32_t pixels) {
  Grid grid;
  const auto span = static_cast<std::uint64_t>(std::max<std::int64_t>(to - from, 1));
  grid.k = static_cast<unsigned>(std::bit_width(std::max<std::uint64_t>(span / pixels, 1))) - 1;
  grid.first = from >> grid.k << grid.k;
  const auto width = static_cast<std::uint64_t>(from + static_cast<std::int64_t>(span) - grid.first);
  grid.columns = static_cast<std::size_t>((width + (std::uint64_t{1} << grid.k) - 1) >> grid.k);
  return grid;
}

Painter::Painter(unsigned k)
    : unit_shift_(k > kPartBits ? k - kPartBits : 0),
      unit_(std::uint64_t{1} << unit_shift_),
      full_(std::uint64_t{1} << (k - unit_shift_)) {}

void Painter::begin_stretch(const Grid& grid) {
  grid_ = grid;
  total_.assign(grid.columns, 0);
  most_.assign(grid.columns, 0);
}

void Painter::cover(std::int64_t begin, std::int64_t end) {
  begin = std::max(begin, grid_.first);
  end = std::min(end, grid_.end());
  if (begin >= end) return;
  const std::size_t last = grid_.column(end - 1);
  for (std::size_t column = grid_.column(begin); column < last; begin = grid_.begin_of(++column)) {
    add(column, static_cast<std::uint64_t>(grid_.begin_of(column + 1) - begin));
  }
  add(last, static_cast<std::uint64_t>(end - begin));
}

void Painter::add_buckets(std::span<const Bucket> buckets, std::int64_t first, unsigned to_column, unsigned shift) {
  if (to_column == 0) {
    for (const Bucket& bucket : buckets) {
      add(static_cast<std::size_t>(first + bucket.index), static_cast<std::uint64_t>(bucket.busy) << shift);
    }
    return;
  }
  for (auto bucket = buckets.begin(); bucket != buckets.end();) {
    const auto column = static_cast<std::size_t>((first + bucket->index) >> to_column);
    std::uint64_t units = 0;
    do {
      units += bucket->busy;
    } while (++bucket != buckets.end() && static_cast<std::size_t>((first + bucket->index) >> to_column) == column);
    add(column, units << shift);
  }
}

void Painter::spread(std::int64_t begin, std::int64_t end, std::uint64_t ns) {
  const double share = static_cast<double>(ns) / static_cast<double>(std::max<std::int64_t>(end - begin, 1));
  begin = std::max(begin, grid_.first);
  end = std::min(end, grid_.end());
  if (begin >= end) return;
  const auto part = [&](std::int64_t length) {
    return std::max<std::uint64_t>(static_cast<std::uint64_t>(share * static_cast<double>(length)), 1);
  };
  const std::size_t last = grid_.column(end - 1);
  std::size_t column = grid_.column(begin);
  if (column < last) {
    add(column, part(grid_.begin_of(column + 1) - begin));
    begin = grid_.begin_of(++column);
    const std::uint64_t of_whole = part(std::int64_t{1} << grid_.k);
    for (; column < last; begin = grid_.begin_of(++column)) add(column, of_whole);
  }
  add(last, part(end - begin));
}

void Painter::end_stretch(std::uint16_t* values) {
  const auto bits = static_cast<unsigned>(std::bit_width(full_)) - 1;
  const auto full = static_cast<std::uint32_t>(full_);
  for (std::size_t i = 0; i < grid_.columns; ++i) {
    // At most 2^20 * 255 + 2^20.
    const std::uint32_t share = (std::min(total_[i], full) * 255 + full - 1) >> bits;
    values[i] = static_cast<std::uint16_t>(share << 8 | (most_[i] & 0xff));
  }
}

}  // namespace castscope::timeline
