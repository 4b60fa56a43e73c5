#include "server/timeline/series/series.h"

#include <algorithm>
#include <bit>

namespace castscope::timeline {

Wanted::Some Wanted::of(const Chunk& chunk) const {
  if (all()) return Some::kAll;
  if (chunk.subjects() == 0) return Some::kSome;
  std::size_t n = 0;
  for (std::size_t i = 0; i < chunk.subjects(); ++i) n += (*this)(chunk.subject(i)) ? 1 : 0;
  return n == 0 ? Some::kNone : n == chunk.subjects() ? Some::kAll : Some::kSome;
}

void SeriesSum::add(const Item& item, std::int64_t from, std::int64_t to) {
  all.add(item, from, to);
  if (by_subject) subjects[item.subject].add(item, from, to);
}

void SeriesSum::add_share(const Chunk& chunk, std::int64_t begin, std::int64_t end, std::int64_t from, std::int64_t to,
                          const Wanted& wanted) {
  exact = false;
  const auto part = static_cast<double>(std::min(end, to) - std::max(begin, from));
  const double share = part / static_cast<double>(end - begin);
  const auto shared = [&](std::uint64_t number) {
    return share >= 1 ? number : static_cast<std::uint64_t>(share * static_cast<double>(number) + 0.5);
  };
  const auto of = [&](const Sum& sum) { return Sum{shared(sum.count), shared(sum.ns), shared(sum.bytes)}; };
  if (wanted.all() && (chunk.subjects() == 0 || !by_subject)) {
    all += of(chunk.sum());
    return;
  }
  for (std::size_t i = 0; i < chunk.subjects(); ++i) {
    if (!wanted(chunk.subject(i))) continue;
    subjects[chunk.subject(i)] += of(chunk.subject_sum(i));
    all += of(chunk.subject_sum(i));
  }
}

std::size_t Series::own_memory() const {
  return heads_.capacity() * sizeof(Head) + tail_.capacity() * sizeof(Item) +
         busy_before_.capacity() * sizeof(std::uint64_t);
}

void Series::add(const Item& item, Holdings& holdings) {
  const bool grows = tail_.size() == tail_.capacity();
  const std::size_t before = grows ? own_memory() : 0;
  busy_before_.push_back(
      tail_.empty() ? 0
                    : busy_before_.back() + static_cast<std::uint64_t>(tail_.back().covered_to() - tail_.back().begin));
  tail_.push_back(item);
  if (grows) holdings.changed(before, own_memory());
  if (tail_.size() == kChunk) seal(holdings);
}

void Series::seal(Holdings& holdings) {
  const std::size_t before = own_memory();
  Head head;
  head.begin = tail_.front().begin;
  head.covered_to = tail_.back().covered_to();
  head.busy = busy_before_.back() + static_cast<std::uint64_t>(tail_.back().covered_to() - tail_.back().begin);
  for (const Item& item : tail_) head.longest = std::max(head.longest, item.end - item.begin);
  head.chunk = std::make_unique<Chunk>(tail_);
  heads_.push_back(std::move(head));
  tail_ = {};  // most series never fill another chunk
  busy_before_ = {};
  holdings.changed(before, own_memory());
  holdings.sealed(*heads_.back().chunk, without_items_);
}

std::size_t Series::first_part(std::int64_t time) const {
  const auto past = [&](const Head& head) { return head.covered_to <= time; };
  return static_cast<std::size_t>(std::partition_point(heads_.begin(), heads_.end(), past) - heads_.begin());
}

std::size_t Series::size(std::size_t part) const {
  if (const Chunk* c = chunk(part)) return c->has_items() ? c->size() : 0;
  return tail_.size();
}

Item Series::item(std::size_t part, std::size_t i) const {
  const Chunk* c = chunk(part);
  return c != nullptr ? c->item(i) : tail_[i];
}

std::size_t Series::first_from(std::size_t part, std::int64_t time) const {
  if (const Chunk* c = chunk(part)) return c->first_from(time);
  const auto before = [&](const Item& item) { return item.begin < time; };
  return static_cast<std::size_t>(std::partition_point(tail_.begin(), tail_.end(), before) - tail_.begin());
}

std::size_t Series::first_touching(std::size_t part, std::int64_t time) const {
  const std::size_t i = first_from(part, time);
  return i > 0 && item(part, i - 1).covered_to() > time ? i - 1 : i;
}

Wanted::Some Series::wanted(std::size_t part, const Wanted& wanted) const {
  if (const Chunk* c = chunk(part)) return wanted.of(*c);
  return wanted.all() ? Wanted::Some::kAll : Wanted::Some::kSome;
}

bool Series::touches(std::int64_t from, std::int64_t to) const {
  const std::size_t part = first_part(from);
  if (part < heads_.size()) return heads_[part].begin < to;  // the window may still be empty
  return !tail_.empty() && tail_.back().covered_to() > from && tail_.front().begin < to;
}

bool Series::whole(std::int64_t from, std::int64_t to) const {
  const std::size_t part = first_part(from);
  return part >= without_items_ || heads_[part].begin >= to;
}

void Series::paint(Painter& painter, const Wanted& wanted) const {
  const Grid& grid = painter.grid();
  for (std::size_t part = first_part(grid.first); part < heads_.size() && heads_[part].begin < grid.end(); ++part) {
    const Head& head = heads_[part];
    fetch_ahead(part, grid.k);
    const Wanted::Some some = wanted.all() ? Wanted::Some::kAll : wanted.of(*head.chunk);
    if (some == Wanted::Some::kNone) continue;
    // Where a chunk's single events are gone, the wanted part of its time is not known: it may lie anywhere in the
    // chunk.
    if (some == Wanted::Some::kSome && head.chunk->has_items()) {
      head.chunk->paint_some(painter, wanted);
    } else if (head.begin >= grid.first && head.covered_to <= grid.end() &&
               grid.column(head.begin) == grid.column(head.covered_to - 1)) {
      painter.add(grid.column(head.begin), head.busy);
    } else {
      head.chunk->paint(painter);
    }
  }
  if (wanted.all())
    paint_tail(painter);
  else
    paint_wanted_tail(painter, wanted);
}

// Chunks lie all over the memory, and a picture of a long run reads a little of each.
void Series::fetch_ahead(std::size_t part, unsigned k) const {
  constexpr std::size_t kFar = 8, kNear = 4;
  if (part + kFar < heads_.size()) __builtin_prefetch(heads_[part + kFar].chunk.get());
  if (part + kNear < heads_.size()) heads_[part + kNear].chunk->prefetch(k);
}

void Series::paint_wanted_tail(Painter& painter, const Wanted& wanted) const {
  for (std::size_t i = first_touching(heads_.size(), painter.grid().first); i < tail_.size(); ++i) {
    if (tail_[i].begin >= painter.grid().end()) return;
    if (wanted(tail_[i].subject)) painter.cover(tail_[i].begin, tail_[i].covered_to());
  }
}

void Series::paint_tail(Painter& painter) const {
  const Grid& grid = painter.grid();
  const std::size_t n = tail_.size();
  for (std::size_t i = first_touching(heads_.size(), grid.first); i < n && tail_[i].begin < grid.end();) {
    const std::int64_t begin = std::max(tail_[i].begin, grid.first);
    const std::int64_t column_end = grid.begin_of(grid.column(begin) + 1);
    const auto inside = [&](std::size_t j) { return tail_[j].covered_to() <= column_end; };
    if (tail_[i].begin < begin || !inside(i)) {
      painter.cover(tail_[i].begin, tail_[i].covered_to());
      ++i;
      continue;
    }
    // The search takes wide steps where a column holds many items; otherwise it reads one after another, which suits
    // the memory best.
    constexpr std::size_t kStride = 64;
    std::size_t last = i;  // the last item known to lie in this column
    while (last + kStride < n && inside(last + kStride)) last += kStride;
    while (last + 1 < n && inside(last + 1)) ++last;
    const auto of_last = static_cast<std::uint64_t>(tail_[last].covered_to() - tail_[last].begin);
    painter.add(grid.column(begin), busy_before_[last] + of_last - busy_before_[i]);
    i = last + 1;
  }
}

void Series::each_as_long(std::int64_t from, std::int64_t to, std::int64_t ns, const Wanted& wanted,
                          const std::function<void(const Item&)>& take) const {
  ns = std::max<std::int64_t>(ns, 1);
  for (std::size_t part = first_part(from); part < heads_.size() && heads_[part].begin < to; ++part) {
    if (heads_[part].longest < ns) continue;
    const Chunk& chunk = *heads_[part].chunk;
    for (std::size_t i = first_touching(part, from), n = size(part); i < n;) {
      if (!chunk.may_be_as_long(i / Chunk::kBlock, ns)) {
        i = (i / Chunk::kBlock + 1) * Chunk::kBlock;
        continue;
      }
      const Item found = chunk.item(i++);
      if (found.begin >= to) return;
      if (found.end - found.begin >= ns && wanted(found.subject)) take(found);
    }
  }
  for (std::size_t i = first_touching(heads_.size(), from); i < tail_.size() && tail_[i].begin < to; ++i) {
    if (tail_[i].end - tail_[i].begin >= ns && wanted(tail_[i].subject)) take(tail_[i]);
  }
}

std::optional<Item> Series::first_after(std::int64_t time, const Wanted& wanted) const {
  for (std::size_t part = first_part(time); part < parts(); ++part) {
    if (this->wanted(part, wanted) == Wanted::Some::kNone) continue;
    const std::size_t n = size(part);
    for (std::size_t i = n == 0 ? 0 : first_from(part, time + 1); i < n; ++i) {
      const Item found = item(part, i);
      if (wanted(found.subject)) return found;
    }
  }
  return std::nullopt;
}

std::optional<Item> Series::last_before(std::int64_t time, const Wanted& wanted) const {
  for (std::size_t part = std::min(first_part(time) + 1, parts()); part-- > 0;) {
    const std::size_t n = size(part);
    if (n == 0 || this->wanted(part, wanted) == Wanted::Some::kNone) continue;
    for (std::size_t i = first_from(part, time); i-- > 0;) {
      const Item found = item(part, i);
      if (wanted(found.subject)) return found;
    }
  }
  return std::nullopt;
}

std::optional<std::size_t> Series::each(std::int64_t from, std::int64_t to, const Wanted& wanted,
                                        const std::function<void(const Item&)>& take, SeriesSum& gone,
                                        std::size_t place) const {
  constexpr std::size_t kPartsAtOnce = 8;
  // Parts keep their numbers: the tail becomes the chunk of its number when it is full.
  const std::size_t begin = std::max(first_part(from), place), end = std::min(begin + kPartsAtOnce, parts());
  for (std::size_t part = begin; part < end; ++part) {
    const Chunk* c = chunk(part);
    if (c != nullptr && heads_[part].begin >= to) return std::nullopt;
    if (c != nullptr && !c->has_items()) {
      gone.add_share(*c, heads_[part].begin, heads_[part].covered_to, from, to, wanted);
      continue;
    }
    for (std::size_t i = first_touching(part, from), n = size(part); i < n; ++i) {
      const Item found = item(part, i);
      if (found.begin >= to) break;
      if (wanted(found.subject)) take(found);
    }
  }
  return end < parts() ? std::optional(end) : std::nullopt;
}

void Series::sum(std::int64_t from, std::int64_t to, const Wanted& wanted, SeriesSum& sum) const {
  for (std::size_t part = first_part(from); part < parts(); ++part) {
    const Chunk* c = chunk(part);
    if (c != nullptr && heads_[part].begin >= to) return;
    const bool inside = c != nullptr && heads_[part].begin >= from && heads_[part].covered_to <= to;
    if (inside && wanted.all() && !sum.by_subject) {
      sum.all += c->sum();
      continue;
    }
    if (inside && c->subjects() > 0) {
      for (std::size_t i = 0; i < c->subjects(); ++i) {
        if (!wanted(c->subject(i))) continue;
        sum.subjects[c->subject(i)] += c->subject_sum(i);
        sum.all += c->subject_sum(i);
      }
      continue;
    }
    if (c != nullptr && !c->has_items()) {
      sum.add_share(*c, heads_[part].begin, heads_[part].covered_to, from, to, wanted);
      continue;
    }
    for (std::size_t i = first_touching(part, from), n = size(part); i < n; ++i) {
      const Item found = item(part, i);
      if (found.begin >= to) break;
      if (wanted(found.subject)) sum.add(found, from, to);
    }
  }
}

}  // namespace castscope::timeline
