#include "server/timeline/grid.h"

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

Painter::Painter(const Grid& grid)
    : grid_(grid),
      unit_shift_(grid.k > kPartBits ? grid.k - kPartBits : 0),
      unit_(std::uint64_t{1} << unit_shift_),
      full_(std::uint64_t{1} << (grid.k - unit_shift_)),
      total_(grid.columns),
      most_(grid.columns) {}

void Painter::begin_track() {
  std::fill(total_.begin(), total_.end(), 0);
  std::fill(most_.begin(), most_.end(), 0);
  any_ = false;
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

void Painter::spread(std::int64_t begin, std::int64_t end, std::uint64_t ns) {
  const double share = static_cast<double>(ns) / static_cast<double>(std::max<std::int64_t>(end - begin, 1));
  begin = std::max(begin, grid_.first);
  end = std::min(end, grid_.end());
  for (std::size_t column = begin < end ? grid_.column(begin) : 0; begin < end; ++column) {
    const std::int64_t until = std::min(end, grid_.begin_of(column + 1));
    add(column, std::max<std::uint64_t>(static_cast<std::uint64_t>(share * static_cast<double>(until - begin)), 1));
    begin = until;
  }
}

bool Painter::values(std::vector<std::uint16_t>* values) const {
  if (!any_) return false;
  values->resize(grid_.columns);
  const auto bits = static_cast<unsigned>(std::bit_width(full_)) - 1;
  for (std::size_t i = 0; i < grid_.columns; ++i) {
    const std::uint64_t share = (std::uint64_t{total_[i]} * 255 + full_ - 1) >> bits;
    (*values)[i] = static_cast<std::uint16_t>(std::min<std::uint64_t>(share, 255) << 8 | (most_[i] & 0xff));
  }
  return true;
}

}  // namespace castscope::timeline
