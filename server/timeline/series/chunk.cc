#include "server/timeline/series/chunk.h"

#include <algorithm>
#include <array>
#include <bit>

namespace castscope::timeline {
namespace {

// A bucket's place in its level takes 16 bits, and its fill is counted in 2^15ths.
constexpr std::int64_t kWidestLevel = 1 << 16;
constexpr unsigned kShareBits = 15;
// A level with at most so many buckets stays when memory is short.
constexpr std::size_t kCoarse = 16;
// A chunk with at most so many subjects keeps a total for each, and the subject of an item takes a byte.
constexpr std::size_t kMostSubjects = 256;

// A bucket's fill is counted in units of 2^shift ns, rounded up.
constexpr unsigned shift_of(unsigned k) { return k > kShareBits ? k - kShareBits : 0; }

// Counts the buckets of 2^k ns that are not empty.
std::size_t buckets_at(std::span<const Item> items, unsigned k) {
  std::int64_t n = 0, last = -1;  // times are never negative
  for (const Item& item : items) {
    const std::int64_t first = std::max(item.begin >> k, last + 1);
    last = std::max(last, (item.covered_to() - 1) >> k);
    n += std::max<std::int64_t>(last - first + 1, 0);
  }
  return static_cast<std::size_t>(n);
}

// Finds the finest level that is worth keeping. Pictures that need a finer one are made from the events themselves.
unsigned finest_level(std::span<const Item> items, std::int64_t begin, std::int64_t end) {
  const auto widest = static_cast<std::uint64_t>(end - begin) / kWidestLevel;
  unsigned low = static_cast<unsigned>(std::bit_width(widest));
  if (((end - 1) >> low) - (begin >> low) >= kWidestLevel) ++low;
  unsigned high = static_cast<unsigned>(std::bit_width(static_cast<std::uint64_t>(end))) + 1;  // one bucket
  while (low < high) {
    const unsigned k = (low + high) / 2;
    if (buckets_at(items, k) <= std::max<std::size_t>(items.size() / 2, 1))
      high = k;
    else
      low = k + 1;
  }
  return low;
}

struct SubjectTotal {
  std::uint32_t subject = 0;
  Sum sum;
};

// Finds a subject's total by its number. The table is at most half full.
class SubjectTable {
 public:
  std::size_t find(std::uint32_t subject) {  // its place; kMostSubjects: there are too many subjects
    for (std::size_t i = subject * 2654435769u >> 23;; i = (i + 1) % slots_.size()) {
      if (slots_[i] == 0) {
        if (totals_.size() == kMostSubjects) return kMostSubjects;
        totals_.push_back({subject, {}});
        slots_[i] = static_cast<std::uint16_t>(totals_.size());
      }
      if (totals_[slots_[i] - std::size_t{1}].subject == subject) return slots_[i] - std::size_t{1};
    }
  }
  SubjectTotal& operator[](std::size_t place) { return totals_[place]; }
  std::size_t size() const { return totals_.size(); }

 private:
  std::array<std::uint16_t, 2 * kMostSubjects> slots_ = {};
  std::vector<SubjectTotal> totals_;
};

}  // namespace

void Sum::add(const Item& item, std::int64_t from, std::int64_t to) {
  count += item.has(kContinued) ? 0 : 1;
  ns += static_cast<std::uint64_t>(std::max<std::int64_t>(std::min(item.end, to) - std::max(item.begin, from), 0));
  bytes += item.bytes();
}

Sum& Sum::operator+=(const Sum& other) {
  count += other.count;
  ns += other.ns;
  bytes += other.bytes;
  return *this;
}

Chunk::Chunk(std::span<const Item> items)
    : begin_(items.front().begin),
      covered_to_(items.back().covered_to()),
      count_(items.size()),
      begins_(count_, [&](std::size_t i) { return items[i].begin - begin_; }),
      durations_(count_, [&](std::size_t i) { return items[i].end - items[i].begin; }),
      bytes_and_flags_(count_, [&](std::size_t i) { return items[i].bytes_and_flags; }) {
  if (durations_.memory() > 0) longest_ = std::make_unique<std::uint8_t[]>((count_ + kBlock - 1) / kBlock);
  for (std::size_t i = 0; i < count_; ++i) {
    sum_.add(items[i], items[i].begin, items[i].end);
    busy_ += static_cast<std::uint64_t>(items[i].covered_to() - items[i].begin);
    if (!longest_) continue;
    const auto bits = std::bit_width(static_cast<std::uint64_t>(items[i].end - items[i].begin));
    longest_[i / kBlock] = std::max(longest_[i / kBlock], static_cast<std::uint8_t>(bits));
  }
  add_levels(items);
  add_subjects(items);
}

void Chunk::add_levels(std::span<const Item> items) {
  unsigned k = finest_level(items, begin_, covered_to_);
  std::vector<Filled> filled;
  filled.reserve(count_ / 2 + 1);
  for (const Item& item : items) {
    std::int64_t from = item.begin;
    const std::int64_t to = item.covered_to();
    for (std::int64_t number = from >> k; from < to; ++number) {
      const std::int64_t until = std::min(to, (number + 1) << k);
      if (filled.empty() || filled.back().number != number) filled.push_back({number, 0});
      filled.back().ns += static_cast<std::uint64_t>(until - from);
      from = until;
    }
  }
  std::vector<Bucket> buckets;
  buckets.reserve(2 * filled.size());
  add_level(k, filled, buckets);
  while (filled.size() > 2) {
    ++k;
    std::size_t n = 0;
    for (const Filled& bucket : filled) {
      const std::int64_t number = bucket.number >> 1;
      if (n > 0 && filled[n - 1].number == number)
        filled[n - 1].ns += bucket.ns;
      else
        filled[n++] = {number, bucket.ns};
    }
    filled.resize(n);
    if (n * 2 <= buckets.size() - level_begins_[n_levels_ - std::size_t{1}]) add_level(k, filled, buckets);
  }
  keep(buckets);
}

void Chunk::add_level(unsigned k, std::span<const Filled> filled, std::vector<Bucket>& buckets) {
  const unsigned shift = shift_of(k);
  const std::int64_t first = begin_ >> k;
  // Several instants may lie in the same ns: the fill of a bucket is capped.
  const std::uint64_t full = std::uint64_t{1} << (k - shift), round_up = (std::uint64_t{1} << shift) - 1;
  for (const Filled& bucket : filled) {
    const std::uint64_t busy = std::min((bucket.ns + round_up) >> shift, full);
    buckets.push_back({static_cast<std::uint16_t>(bucket.number - first), static_cast<std::uint16_t>(busy)});
  }
  level_k_[n_levels_++] = static_cast<std::uint8_t>(k);
  level_begins_[n_levels_] = static_cast<std::uint16_t>(buckets.size());
}

void Chunk::keep(std::span<const Bucket> buckets) {
  auto kept = std::make_unique_for_overwrite<Bucket[]>(buckets.size());
  std::copy(buckets.begin(), buckets.end(), kept.get());
  buckets_ = std::move(kept);
}

std::span<const Bucket> Chunk::buckets_of(std::size_t level) const {
  return {&buckets_[level_begins_[level]], &buckets_[level_begins_[level + 1]]};
}

std::size_t Chunk::level_for(unsigned k) const {
  for (std::size_t level = n_levels_; level-- > 0;) {
    if (level_k_[level] <= k) return level;
  }
  return n_levels_;
}

void Chunk::prefetch(unsigned k) const {
  const std::size_t level = level_for(k);
  if (level < n_levels_) __builtin_prefetch(&buckets_[level_begins_[level]]);
}

void Chunk::add_subjects(std::span<const Item> items) {
  SubjectTable table;
  std::vector<std::uint16_t> places(count_);
  for (std::size_t i = 0; i < count_; ++i) {
    const std::size_t place = table.find(items[i].subject);
    if (place == kMostSubjects) {
      whose_ = Column(count_, [&](std::size_t n) { return items[n].subject; });
      return;
    }
    places[i] = static_cast<std::uint16_t>(place);
    table[place].sum.add(items[i], items[i].begin, items[i].end);
  }
  whose_ = Column(count_, [&](std::size_t i) { return places[i]; });
  n_subjects_ = table.size();
  subjects_ = Column(n_subjects_, [&](std::size_t i) { return table[i].subject; });
  subject_counts_ = Column(n_subjects_, [&](std::size_t i) { return table[i].sum.count; });
  subject_ns_ = Column(n_subjects_, [&](std::size_t i) { return table[i].sum.ns; });
  subject_bytes_ = Column(n_subjects_, [&](std::size_t i) { return table[i].sum.bytes; });
}

void Chunk::drop_items() {
  has_items_ = false;
  for (Column* column : {&begins_, &durations_, &whose_, &bytes_and_flags_}) *column = Column();
  longest_.reset();
}

void Chunk::drop_fine_levels() {
  std::size_t dropped = 0;
  while (dropped + 1 < n_levels_ && buckets_of(dropped).size() > kCoarse) ++dropped;
  const std::uint16_t begin = level_begins_[dropped];
  keep({&buckets_[begin], &buckets_[level_begins_[n_levels_]]});
  n_levels_ = static_cast<std::uint8_t>(n_levels_ - dropped);
  for (std::size_t i = 0; i <= n_levels_; ++i) {
    level_begins_[i] = static_cast<std::uint16_t>(level_begins_[i + dropped] - begin);
    if (i < n_levels_) level_k_[i] = level_k_[i + dropped];
  }
}

void Chunk::drop_levels() {
  n_levels_ = 0;
  level_begins_[0] = 0;
  buckets_.reset();
  n_subjects_ = 0;
  for (Column* column : {&subjects_, &subject_counts_, &subject_ns_, &subject_bytes_}) *column = Column();
}

std::size_t Chunk::items_memory() const {
  const std::size_t blocks = longest_ ? (count_ + kBlock - 1) / kBlock : 0;
  return begins_.memory() + durations_.memory() + whose_.memory() + bytes_and_flags_.memory() + blocks;
}

std::size_t Chunk::memory() const {
  return sizeof(Chunk) + items_memory() + level_begins_[n_levels_] * sizeof(Bucket) + subjects_.memory() +
         subject_counts_.memory() + subject_ns_.memory() + subject_bytes_.memory();
}

Item Chunk::item(std::size_t i) const {
  Item item;
  item.begin = begin_ + static_cast<std::int64_t>(begins_[i]);
  item.end = item.begin + static_cast<std::int64_t>(durations_[i]);
  const std::uint64_t whose = whose_[i];
  item.subject = n_subjects_ > 0 ? subject(whose) : static_cast<std::uint32_t>(whose);
  item.bytes_and_flags = bytes_and_flags_[i];
  return item;
}

std::size_t Chunk::first_from(std::int64_t time) const {
  if (time <= begin_) return 0;
  const auto delta = static_cast<std::uint64_t>(time - begin_);
  std::size_t low = 0, high = count_;
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (begins_[middle] < delta)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

std::size_t Chunk::first_touching(std::int64_t time) const {
  const std::size_t i = first_from(time);
  return i > 0 && item(i - 1).covered_to() > time ? i - 1 : i;
}

bool Chunk::may_be_as_long(std::size_t block, std::int64_t ns) const {
  return longest_ && longest_[block] >= std::bit_width(static_cast<std::uint64_t>(ns));
}

void Chunk::paint(Painter& painter) const {
  const std::size_t level = level_for(painter.grid().k);
  if (level < n_levels_) return paint_level(level, painter);
  return has_items_ ? paint_items(painter) : paint_coarse(painter);
}

void Chunk::paint_items(Painter& painter) const {
  const std::int64_t end = painter.grid().end();
  for (std::size_t i = first_touching(painter.grid().first); i < count_; ++i) {
    const std::int64_t begin = begin_ + static_cast<std::int64_t>(begins_[i]);
    if (begin >= end) return;
    painter.cover(begin, begin + std::max<std::int64_t>(static_cast<std::int64_t>(durations_[i]), 1));
  }
}

void Chunk::paint_level(std::size_t level, Painter& painter) const {
  const Grid& grid = painter.grid();
  const unsigned k = level_k_[level];
  // The position in buckets of this level, counted from the window's begin.
  const std::int64_t first = (begin_ >> k) - (grid.first >> k);
  const std::int64_t end = static_cast<std::int64_t>(grid.columns) << (grid.k - k);
  std::span<const Bucket> seen = buckets_of(level);
  const auto cut = [&](std::int64_t at) {
    const auto before = [&](const Bucket& bucket) { return first + bucket.index < at; };
    return static_cast<std::size_t>(std::partition_point(seen.begin(), seen.end(), before) - seen.begin());
  };
  // Only few chunks lie at the ends of the window.
  if (covered_to_ > grid.end()) seen = seen.first(cut(end));
  if (begin_ < grid.first) seen = seen.subspan(cut(0));
  painter.add_buckets(seen, first, grid.k - k, shift_of(k));
}

void Chunk::paint_coarse(Painter& painter) const {
  if (n_levels_ == 0) return painter.spread(begin_, covered_to_, busy_);
  const unsigned k = level_k_[0];
  for (const Bucket& bucket : buckets_of(0)) {
    const std::int64_t begin = ((begin_ >> k) + bucket.index) << k;
    const std::int64_t end = begin + (std::int64_t{1} << k);
    const auto ns = static_cast<std::uint64_t>(bucket.busy) << shift_of(k);
    painter.spread(std::max(begin, begin_), std::min(end, covered_to_), ns);
  }
}

}  // namespace castscope::timeline
