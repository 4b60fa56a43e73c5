// The columns of a picture, and what fills them.
//
// A column is 2^k ns wide and begins at a multiple of 2^k. So do the buckets of a chunk's levels, and a bucket that is
// no wider than a column therefore lies in one column.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace castscope::timeline {

struct Grid {
  unsigned k = 0;
  std::int64_t first = 0;
  std::size_t columns = 1;
  std::int64_t end() const { return first + (static_cast<std::int64_t>(columns) << k); }
  std::size_t column(std::int64_t time) const { return static_cast<std::size_t>((time - first) >> k); }
  std::int64_t begin_of(std::size_t column) const { return first + (static_cast<std::int64_t>(column) << k); }
  // Returns the grid with the widest columns of which at least `pixels` lie in [from, to): at most 2 * pixels + 2.
  static Grid of(std::int64_t from, std::int64_t to, std::uint32_t pixels);
};

// A part of a level (chunk.h): its fill, in units of the level.
struct Bucket {
  std::uint16_t index, busy;
};

// Adds up a stretch of one track: the shade that fills most of a column, and how much of the column is filled.
class Painter {
 public:
  explicit Painter(unsigned k);
  // The columns are as wide as in the first call.
  void begin_stretch(const Grid& grid);
  const Grid& grid() const { return grid_; }
  void begin_series(std::uint8_t shade) { shade_ = shade; }
  // The columns of one series never go back.
  void add(std::size_t column, std::uint64_t ns) {
    if (column != column_) {
      flush();
      column_ = column;
    }
    ns_ += ns;
  }
  // The bucket with index i lies in column (first + i) >> to_column; its unit is 2^shift ns.
  void add_buckets(std::span<const Bucket> buckets, std::int64_t first, unsigned to_column, unsigned shift);
  // Covers [begin, end), or the part of it that lies in the grid.
  void cover(std::int64_t begin, std::int64_t end);
  // Spreads so many ns evenly over [begin, end), since their exact place is not known.
  void spread(std::int64_t begin, std::int64_t end, std::uint64_t ns);
  void end_series() { flush(); }
  // Writes all columns: the low byte is the shade, the high byte the fill (1 … 255); 0 = nothing.
  void end_stretch(std::uint16_t* values);

 private:
  void flush() {
    if (ns_ == 0) return;
    // The fill is rounded up, so that nothing is invisible. Several instants may lie in the same ns.
    const std::uint64_t filled = std::min((ns_ + unit_ - 1) >> unit_shift_, full_);
    total_[column_] += static_cast<std::uint32_t>(filled);
    most_[column_] = std::max(most_[column_], static_cast<std::uint32_t>(filled << 8 | shade_));
    ns_ = 0;
  }
  // Parts of a column are counted in 2^20ths: with the shade they fit into 32 bits, and a track of 3,200 columns fits
  // into the first-level cache.
  static constexpr unsigned kPartBits = 20;
  Grid grid_;
  const unsigned unit_shift_;
  const std::uint64_t unit_, full_;
  std::vector<std::uint32_t> total_, most_;
  std::size_t column_ = 0;
  std::uint64_t ns_ = 0;
  std::uint8_t shade_ = 0;
};

}  // namespace castscope::timeline
