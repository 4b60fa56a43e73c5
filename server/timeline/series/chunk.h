// A full stretch of one series: some thousand intervals in columns, and coarser and coarser levels of where they are.
//
// A level tells how full each of its buckets is, those that are not empty; a bucket is 2^k ns wide and begins at a
// multiple of 2^k. The finest level has at most half as many buckets as the chunk has events. A level is kept only
// where it has at most half the buckets of the one before, so all levels together have at most as many buckets as there
// are events, and the coarsest kept level that is fine enough has at most twice the buckets that are needed.
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
// Low bits, so that what is small stays small in its column.
inline constexpr std::uint64_t kKept = 1;       // the copy went into the cache
inline constexpr std::uint64_t kContinued = 2;  // it is no new event: the one before goes on
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

  // By stages, when memory is short: single events, then all but a coarse level, then that too.
  bool has_items() const { return has_items_; }
  void drop_items();
  void drop_fine_levels();
  void drop_levels();
  std::size_t memory() const;
  std::size_t items_memory() const;

  std::size_t size() const { return count_; }
  Item item(std::size_t i) const;                       // only with has_items
  std::size_t first_touching(std::int64_t time) const;  // the first one that is covered after `time`; size() = none
  std::size_t first_from(std::int64_t time) const;      // the first one that begins at or after `time`
  const Sum& sum() const { return sum_; }
  // The different subjects, and what each comes to; none where they are too many.
  std::size_t subjects() const { return n_subjects_; }
  std::uint32_t subject(std::size_t i) const { return static_cast<std::uint32_t>(subjects_[i]); }
  Sum subject_sum(std::size_t i) const { return {subject_counts_[i], subject_ns_[i], subject_bytes_[i]}; }
  // Whether an item of [64 * block, …) may be this long.
  bool may_be_as_long(std::size_t block, std::int64_t ns) const;
  static constexpr std::size_t kBlock = 64;

  void paint(Painter&) const;
  void prefetch(unsigned k) const;  // what a picture of columns of 2^k ns will read
  // Only the items of some subjects; only with has_items.
  template <typename Wanted>
  void paint_some(Painter& painter, const Wanted& wanted) const;

 private:
  // Of levels; each has at most half as many buckets as the one before: 1024, 512, … 1.
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
  std::size_t level_for(unsigned k) const;  // the coarsest that is fine enough; n_levels_ = none
  std::span<const Bucket> buckets_of(std::size_t level) const;
  void paint_level(std::size_t level, Painter&) const;
  void paint_coarse(Painter&) const;

  // What most pictures need is one line of the cache: chunks lie all over the memory.
  const std::int64_t begin_, covered_to_;
  std::unique_ptr<Bucket[]> buckets_;
  std::array<std::uint16_t, kMostLevels + 1> level_begins_ = {};  // in buckets_; behind the last one its end
  std::array<std::uint8_t, kMostLevels> level_k_ = {};            // finest first
  std::uint8_t n_levels_ = 0;
  bool has_items_ = true;
  const std::size_t count_;
  std::uint64_t busy_ = 0;
  Sum sum_;
  Column begins_, durations_, bytes_and_flags_;
  Column whose_;  // of each item the place in subjects_; where there are too many, the subject
  std::unique_ptr<std::uint8_t[]> longest_;  // bits of the longest duration in each block; null: all are instants
  std::size_t n_subjects_ = 0;
  Column subjects_, subject_counts_, subject_ns_, subject_bytes_;
};

template <typename Wanted>
void Chunk::paint_some(Painter& painter, const Wanted& wanted) const {
  // Looked up once a subject, not once an item.
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
