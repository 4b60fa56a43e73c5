// A full stretch of one series: some thousand intervals in columns, and coarser and coarser levels that show where they
// are.
//
// A level stores the fill of each bucket that is not empty; a bucket is 2^k ns wide and begins at a multiple of 2^k.
// The finest level has at most half as many buckets as the chunk has events. A level is kept only if it has at most
// half the buckets of the one before, so all levels together have at most as many buckets as there are events, and the
// coarsest kept level that is fine enough has at most twice the buckets that are needed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "server/timeline/series/column.h"
#include "server/timeline/series/grid.h"

namespace castscope::timeline {

// An instant ends where it begins, and covers 1 ns.
struct Item {
  std::int64_t begin = 0, end = 0;
  std::uint64_t bytes_and_flags = 0;
  std::uint32_t subject = 0;
  std::int64_t covered_to() const { return end > begin ? end : begin + 1; }
  std::uint64_t bytes() const { return bytes_and_flags >> 2; }
  bool has(std::uint64_t flag) const { return bytes_and_flags & flag; }
};
// These are the low bits, so that small numbers stay small in their column.
inline constexpr std::uint64_t kKept = 1;       // the copy went into the cache
inline constexpr std::uint64_t kContinued = 2;  // not a new event: it continues the one before
inline constexpr std::uint64_t kMostItemBytes = (std::uint64_t{1} << 62) - 1;
inline constexpr std::uint64_t with_flags(std::uint64_t bytes, std::uint64_t flags) { return bytes << 2 | flags; }

struct Sum {
  std::uint64_t count = 0, ns = 0, bytes = 0;
  void add(const Item& item, std::int64_t from, std::int64_t to);  // the part of its time in [from, to)
  Sum& operator+=(const Sum& other);
};
class alignas(64) Chunk {
 public:
  explicit Chunk(std::span<const Item> items);  // sorted, none overlaps another

  // Memory is given up in stages: first single events, then all levels but a coarse one, then that one too.
  bool has_items() const { return has_items_; }
  void drop_items();
  void drop_fine_levels();
  void drop_levels();
  std::size_t memory() const;
  std::size_t items_memory() const;

  std::size_t size() const { return count_; }
  Item item(std::size_t i) const;                       // only with has_items
  std::size_t first_touching(std::int64_t time) const;  // the first item that covers time after `time`; size() = none
  std::size_t first_from(std::int64_t time) const;      // the first item that begins at or after `time`
  const Sum& sum() const { return sum_; }
  // The different subjects, and the total of each; none where there are too many subjects.
  std::size_t subjects() const { return n_subjects_; }
  std::uint32_t subject(std::size_t i) const { return static_cast<std::uint32_t>(subjects_[i]); }
  Sum subject_sum(std::size_t i) const { return {subject_counts_[i], subject_ns_[i], subject_bytes_[i]}; }
  // Whether an item of [64 * block, …) may be as long as `ns`.
  bool may_be_as_long(std::size_t block, std::int64_t ns) const;
  static constexpr std::size_t kBlock = 64;

  void paint(Painter&) const;
  void prefetch(unsigned k) const;  // loads what a picture of columns of 2^k ns will read
  // Paints only the items of some subjects; needs has_items.
  template <typename Wanted>
  void paint_some(Painter& painter, const Wanted& wanted) const;

 private:
  // Each level has at most half as many buckets as the one before: 1024, 512, … 1.
  static constexpr std::size_t kMostLevels = 11;
  struct Filled {  // a bucket that is being made
    std::int64_t number;
    std::uint64_t ns;
  };
  void add_levels(std::span<const Item> items);
  void add_level(unsigned k, std::span<const Filled> filled, std::vector<Bucket>& buckets);
  void keep(std::span<const Bucket> buckets);
  void add_subjects(std::span<const Item> items);
  void paint_items(Painter&) const;
  std::size_t level_for(unsigned k) const;  // the coarsest level that is fine enough; n_levels_ = none
  std::span<const Bucket> buckets_of(std::size_t level) const;
  void paint_level(std::size_t level, Painter&) const;
  void paint_coarse(Painter&) const;

  // Most pictures read only this cache line: chunks lie all over the memory.
  const std::int64_t begin_, covered_to_;
  std::unique_ptr<Bucket[]> buckets_;
  std::array<std::uint16_t, kMostLevels + 1> level_begins_ = {};  // indices into buckets_; the last one is the end
  std::array<std::uint8_t, kMostLevels> level_k_ = {};            // finest first
  std::uint8_t n_levels_ = 0;
  bool has_items_ = true;
  const std::size_t count_;
  std::uint64_t busy_ = 0;
  Sum sum_;
  Column begins_, durations_, bytes_and_flags_;
  Column whose_;  // of each item the index in subjects_; where there are too many subjects, the subject itself
  std::unique_ptr<std::uint8_t[]> longest_;  // bits of the longest duration in each block; null: all are instants
  std::size_t n_subjects_ = 0;
  Column subjects_, subject_counts_, subject_ns_, subject_bytes_;
};

template <typename Wanted>
void Chunk::paint_some(Painter& painter, const Wanted& wanted) const {
  // Each subject is looked up once, not once for each item.
  std::vector<bool> places(n_subjects_);
  for (std::size_t i = 0; i < n_subjects_; ++i) places[i] = wanted(subject(i));
  const std::int64_t end = painter.grid().end();
  for (std::size_t i = first_touching(painter.grid().first), until = first_from(end); i < until; ++i) {
    const std::uint64_t whose = whose_[i];
    if (n_subjects_ > 0 ? !places[whose] : !wanted(static_cast<std::uint32_t>(whose))) continue;
    const std::int64_t begin = begin_ + static_cast<std::int64_t>(begins_[i]);
    painter.cover(begin, begin + std::max<std::int64_t>(static_cast<std::int64_t>(durations_[i]), 1));
  }
}

}  // namespace castscope::timeline
