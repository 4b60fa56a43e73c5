#include <algorithm>
#include <map>
#include <tuple>

#include "server/timeline/questions.h"

namespace castscope::timeline {
namespace {

bool has_subjects(TrackKind kind) {
  return kind == TrackKind::kCasts || kind == TrackKind::kOperators || kind == TrackKind::kRegions;
}

class Totals {
 public:
  void add(const Row& row, ShadeKind kind, const SeriesSum& sum) {
    exact_ = exact_ && sum.exact;
    if (sum.all.count == 0 && sum.all.ns == 0) return;
    kinds_[kind] += sum.all;
    if (!has_subjects(row.track.kind)) return;
    for (const auto& [subject, of] : sum.subjects) rows_[{row.track.kind, subject, kind}] += of;
  }
  Summary summary() const {
    Summary summary;
    summary.exact = exact_;
    for (const auto& [kind, sum] : kinds_) {
      summary.kinds.push_back({kind, sum.count, sum.ns, sum.bytes});
      summary.events += sum.count;
    }
    for (const auto& [key, sum] : rows_) {
      const auto& [track, subject, kind] = key;
      summary.rows.push_back({track, subject, kind, sum.count, sum.ns, sum.bytes});
    }
    return summary;
  }

 private:
  bool exact_ = true;
  std::map<ShadeKind, Sum> kinds_;
  std::map<std::tuple<TrackKind, std::uint32_t, ShadeKind>, Sum> rows_;
};

}  // namespace

Summary sum_up(const Teller& told, const SummaryQuery& query) {
  const Choice choice(query.filter, told.shades());
  Totals totals;
  for (const Row& row : told.rows()) {
    if (!choice.has(row)) continue;
    const auto kind = [&](std::uint8_t shade) { return told.shades().all()[shade - std::size_t{1}].kind; };
    for (const auto& series : row.series) {
      const auto wanted = choice.of(row, series->shade());
      if (!wanted || !series->touches(query.from, query.to)) continue;
      SeriesSum sum;
      series->sum(query.from, query.to, *wanted, sum);
      totals.add(row, kind(series->shade()), sum);
    }
    if (!row.open) continue;
    const auto wanted = choice.of(row, row.open->shade);
    const Item open = row.open_item(told.newest());
    const bool seen = open.begin < query.to && open.covered_to() > query.from;
    if (!wanted || !seen || !(*wanted)(open.subject)) continue;
    SeriesSum sum;
    sum.add(open, query.from, query.to);
    totals.add(row, kind(row.open->shade), sum);
  }
  return totals.summary();
}

}  // namespace castscope::timeline
