#include <algorithm>

#include "server/timeline/questions/questions.h"

namespace castscope::timeline {
namespace {

bool has_duration(ShadeKind kind) { return kind != ShadeKind::kHit && kind != ShadeKind::kPass; }

// The edges of the bars: 1, 2, 5, 10, 20, 50, … ns. Below 1 ns lies what took no time that the clock could tell.
std::int64_t edge_after(std::int64_t edge) {
  if (edge == 0) return 1;
  std::int64_t power = 1;
  while (power <= edge / 10) power *= 10;
  return edge / power == 2 ? power * 5 : edge * 2;
}
std::int64_t edge_below(std::int64_t duration) {
  std::int64_t edge = 0;
  for (std::int64_t next = 1; next <= duration; next = edge_after(next)) edge = next;
  return edge;
}

using Sorted = std::vector<std::pair<std::int64_t, std::uint64_t>>;  // durations, how often each

// The least duration that at least this share of all does not exceed.
std::int64_t at_rank(const Sorted& durations, std::uint64_t all, std::uint64_t percent) {
  const std::uint64_t rank = (all * percent + 99) / 100;
  std::uint64_t so_far = 0;
  for (const auto& [duration, times] : durations) {
    so_far += times;
    if (so_far >= rank) return duration;
  }
  return 0;
}

std::vector<Durations::Bar> bars_of(const Sorted& durations) {
  std::vector<Durations::Bar> bars;
  std::int64_t edge = edge_below(durations.front().first);
  for (auto at = durations.begin(); at != durations.end();) {
    Durations::Bar& bar = bars.emplace_back(Durations::Bar{.from = edge, .to = edge_after(edge)});
    for (; at != durations.end() && at->first < bar.to; ++at) bar.count += at->second;
    edge = bar.to;
  }
  return bars;
}

void add_steps(const Row* steps, const DurationQuery& query, std::int64_t newest, Durations& durations) {
  if (steps == nullptr) return;
  SeriesSum sum;
  sum.by_subject = false;
  for (const auto& series : steps->series) series->sum(query.from, query.to, Wanted(), sum);
  if (steps->open) {
    const Item open = steps->open_item(newest);
    if (open.begin < query.to && open.covered_to() > query.from) sum.add(open, query.from, query.to);
  }
  durations.steps += sum.all.count;
  durations.steps_ns += sum.all.ns;
}

}  // namespace

void Measuring::take(const Item& item) {
  const std::int64_t duration = item.end - item.begin;
  ++counts_[duration];
  ++sums_.single;
  ++sums_.count;
  sums_.ns += static_cast<std::uint64_t>(duration);
  sums_.window_ns += static_cast<std::uint64_t>(
      std::max<std::int64_t>(std::min(item.end, query_.to) - std::max(item.begin, query_.from), 0));
  sums_.bytes += item.bytes();
}

bool Measuring::add(const TrackBuilder& tracks, const Row& row) {
  const Choice choice(query_.filter, tracks.shades());
  if (row.track.kind != query_.track || !choice.has(row)) return false;
  processes_.insert(row.track.process);
  for (; series_ < row.series.size(); ++series_, place_ = 0) {
    const Series& series = *row.series[series_];
    auto wanted = choice.of(row, series.shade());
    if (!wanted || !has_duration(tracks.shades().all()[series.shade() - std::size_t{1}].kind)) continue;
    wanted->subject = query_.subject;
    SeriesSum gone;
    gone.by_subject = false;
    const auto take_one = [this](const Item& item) { take(item); };
    const auto next = series.each(query_.from, query_.to, *wanted, take_one, gone, place_);
    sums_.exact = sums_.exact && gone.exact;
    sums_.count += gone.all.count;
    sums_.ns += gone.all.ns;
    sums_.window_ns += gone.all.ns;
    sums_.bytes += gone.all.bytes;
    if (next) {
      place_ = *next;
      return true;
    }
  }
  series_ = place_ = 0;
  return false;
}

Durations Measuring::durations(const TrackBuilder& tracks) const {
  Durations told = sums_;
  for (const store::ProcessId process : processes_) {
    add_steps(tracks.steps_of(process), query_, tracks.newest(), told);
    told.missing_ns = std::max(told.missing_ns, tracks.missing(process, query_.from, query_.to));
  }
  if (counts_.empty()) return told;
  Sorted durations(counts_.begin(), counts_.end());
  std::sort(durations.begin(), durations.end());
  told.shortest = durations.front().first;
  told.median = at_rank(durations, told.single, 50);
  told.p95 = at_rank(durations, told.single, 95);
  told.longest = durations.back().first;
  told.bars = bars_of(durations);
  return told;
}

}  // namespace castscope::timeline
