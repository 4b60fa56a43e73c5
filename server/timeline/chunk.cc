#include "server/timeline/chunk.h"

#include <algorithm>
#include <array>
#include <bit>

namespace castscope::timeline {
namespace {

// A bucket's place in its level is told in 16 bits, and how full it is in 2^15ths.
constexpr std::int64_t kWidestLevel = 1 << 16;
constexpr unsigned kShareBits = 15;
// What a level has at most that stays when memory is short.
constexpr std::size_t kCoarse = 16;
// Of so many subjects a chunk knows the totals, and an item's subject takes a byte.
constexpr std::size_t kMostSubjects = 256;

// How many buckets of 2^k ns are not empty.
std::size_t buckets_at(std::span<const Item> items, unsigned k) {
  std::int64_t n = 0, last = -1;  // times are never negative
  for (const Item& item : items) {
    const std::int64_t first = std::max(item.begin >> k, last + 1);
    last = std::max(last, (item.covered_to() - 1) >> k);
    n += std::max<std::int64_t>(last - first + 1, 0);
  }
  return static_cast<std::size_t>(n);
}

// Where a level would be no coarser than need be, its pictures are made of the events themselves.
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

// Finds a subject's total by its number. Half full at most.
class SubjectTable {
 public:
  std::size_t find(std::uint32_t subject) {  // its place; kMostSubjects: they are too many
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
  buckets_.reserve(2 * filled.size());
  add_level(k, filled);
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
    if (n * 2 <= levels_.back().n) add_level(k, filled);
  }
  buckets_.shrink_to_fit();
  levels_.shrink_to_fit();
}

void Chunk::add_level(unsigned k, std::span<const Filled> filled) {
  Level level;
  level.k = static_cast<std::uint8_t>(k);
  level.shift = static_cast<std::uint8_t>(k > kShareBits ? k - kShareBits : 0);
  level.first = filled.front().number;
  level.begin = static_cast<std::uint32_t>(buckets_.size());
  level.n = static_cast<std::uint32_t>(filled.size());
  // Several instants may lie in the same ns: no bucket is more than full.
  const std::uint64_t full = std::uint64_t{1} << (k - level.shift), round_up = (std::uint64_t{1} << level.shift) - 1;
  for (const Filled& bucket : filled) {
    const std::uint64_t busy = std::min((bucket.ns + round_up) >> level.shift, full);
    buckets_.push_back({static_cast<std::uint16_t>(bucket.number - level.first), static_cast<std::uint16_t>(busy)});
  }
  levels_.push_back(level);
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
  const auto coarse = std::find_if(levels_.begin(), levels_.end(), [](const Level& l) { return l.n <= kCoarse; });
  if (coarse == levels_.end()) return;
  levels_.erase(levels_.begin(), coarse);
  const std::uint32_t dropped = levels_.front().begin;
  buckets_ = std::vector<Bucket>(buckets_.begin() + dropped, buckets_.end());
  levels_ = std::vector<Level>(levels_);
  for (Level& level : levels_) level.begin -= dropped;
}

void Chunk::drop_levels() {
  levels_ = {};
  buckets_ = {};
  n_subjects_ = 0;
  for (Column* column : {&subjects_, &subject_counts_, &subject_ns_, &subject_bytes_}) *column = Column();
}

std::size_t Chunk::items_memory() const {
  const std::size_t blocks = longest_ ? (count_ + kBlock - 1) / kBlock : 0;
  return begins_.memory() + durations_.memory() + whose_.memory() + bytes_and_flags_.memory() + blocks;
}

std::size_t Chunk::memory() const {
  return sizeof(Chunk) + items_memory() + levels_.capacity() * sizeof(Level) + buckets_.capacity() * sizeof(Bucket) +
         subjects_.memory() + subject_counts_.memory() + subject_ns_.memory() + subject_bytes_.memory();
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
  const Level* fits = nullptr;
  for (const Level& level : levels_) {
    if (level.k <= painter.grid().k) fits = &level;
  }
  if (fits != nullptr) return paint_level(*fits, painter);
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

void Chunk::paint_level(const Level& level, Painter& painter) const {
  const Grid& grid = painter.grid();
  // In buckets of this level, counted from the window's begin.
  const std::int64_t first = level.first - (grid.first >> level.k);
  const std::int64_t end = static_cast<std::int64_t>(grid.columns) << (grid.k - level.k);
  const auto all = std::span(buckets_).subspan(level.begin, level.n);
  const auto from = std::partition_point(all.begin(), all.end(), [&](const Bucket& b) { return first + b.index < 0; });
  const auto to = std::partition_point(from, all.end(), [&](const Bucket& b) { return first + b.index < end; });
  painter.add_buckets(std::span(from, to), first, grid.k - level.k, level.shift);
}

void Chunk::paint_coarse(Painter& painter) const {
  if (levels_.empty()) return painter.spread(begin_, covered_to_, busy_);
  const Level& level = levels_.front();
  for (std::uint32_t i = level.begin; i < level.begin + level.n; ++i) {
    const std::int64_t begin = (level.first + buckets_[i].index) << level.k;
    const std::int64_t end = begin + (std::int64_t{1} << level.k);
    const auto ns = static_cast<std::uint64_t>(buckets_[i].busy) << level.shift;
    painter.spread(std::max(begin, begin_), std::min(end, covered_to_), ns);
  }
}

}  // namespace castscope::timeline
