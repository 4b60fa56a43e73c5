#include <algorithm>
#include <map>
#include <tuple>

#include "server/timeline/questions/questions.h"

namespace castscope::timeline {
namespace {

bool has_subjects(TrackKind kind) {
  return kind == TrackKind::kCasts || kind == TrackKind::kOperators || kind == TrackKind::kRegions ||
         kind == TrackKind::kKernels || kind == TrackKind::kMarks;
}

}  // namespace

struct Summing::Totals {
  bool exact = true;
  std::map<ShadeKind, Sum> kinds;
  std::map<std::uint8_t, Sum> shades;
  std::map<std::tuple<TrackKind, std::uint32_t, ShadeKind>, Sum> rows;

  void add(const Row& row, const Shade& shade, const SeriesSum& sum) {
    exact = exact && sum.exact;
    if (sum.all.count == 0 && sum.all.ns == 0) return;
    kinds[shade.kind] += sum.all;
    shades[shade.id] += sum.all;
    if (!has_subjects(row.track.kind)) return;
    for (const auto& [subject, of] : sum.subjects) rows[{row.track.kind, subject, shade.kind}] += of;
  }
};

Summing::Summing(const SummaryQuery& query) : query_(query), totals_(std::make_unique<Totals>()) {}
Summing::~Summing() = default;

void Summing::add(const TrackBuilder& tracks, const Row& row) {
  const Choice choice(query_.filter, tracks.shades());
  if (!choice.has(row) || (row.track.kind == TrackKind::kModules && !query_.modules)) return;
  for (const auto& series : row.series) {
    const auto wanted = choice.of(row, series->shade());
    if (!wanted || !series->touches(query_.from, query_.to)) continue;
    SeriesSum sum;
    sum.by_subject = query_.rows;
    series->sum(query_.from, query_.to, *wanted, sum);
    totals_->add(row, tracks.shades()[series->shade()], sum);
  }
  if (!row.open) return;
  const auto wanted = choice.of(row, row.open->shade);
  const Item open = row.open_item(tracks.newest());
  const bool seen = open.begin < query_.to && open.covered_to() > query_.from;
  if (!wanted || !seen || !(*wanted)(open.subject)) return;
  SeriesSum sum;
  sum.by_subject = query_.rows;
  sum.add(open, query_.from, query_.to);
  totals_->add(row, tracks.shades()[row.open->shade], sum);
}

Summary Summing::summary() const {
  Summary summary;
  summary.exact = totals_->exact;
  for (const auto& [kind, sum] : totals_->kinds) {
    summary.kinds.push_back({kind, sum.count, sum.ns, sum.bytes});
    summary.events += sum.count;
  }
  for (const auto& [shade, sum] : totals_->shades) summary.shades.push_back({shade, sum.count, sum.ns, sum.bytes});
  for (const auto& [key, sum] : totals_->rows) {
    const auto& [track, subject, kind] = key;
    summary.rows.push_back({track, subject, kind, sum.count, sum.ns, sum.bytes});
  }
  return summary;
}

}  // namespace castscope::timeline
