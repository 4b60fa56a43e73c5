#include "server/web/search/field_values.h"

#include <algorithm>
#include <map>
#include <set>

namespace castscope::web {
namespace {

using timeline::ShadeKind;
using timeline::TrackKind;
using Counts = std::map<std::string, std::uint64_t, std::less<>>;

// Calls `take` for each value that the search shows of what the sum is of.
void each_value(const SearchedRun& run, const timeline::SubjectSum& sum, SearchField field,
                DefinitionWords::Take take) {
  const store::RunData& data = run.run();
  const auto tell = [&](const auto* definition) {
    if (definition != nullptr) run.words().values(*definition, field, take);
  };
  switch (sum.track) {
    case TrackKind::kCasts:
      return tell(data.sites.find(store::SiteId(sum.subject)));
    case TrackKind::kOperators:
      return tell(data.operator_uses.find(store::OperatorUseId(sum.subject)));
    case TrackKind::kRegions:
      return tell(data.regions.find(store::RegionId(sum.subject)));
    case TrackKind::kKernels:
      return tell(data.kernels.find(store::KernelId(sum.subject)));
    default:
      return;
  }
}

Counts count_kinds(const timeline::Summary& sums) {
  Counts counts;
  for (const timeline::KindSum& sum : sums.kinds) {
    counts[std::string(kind_word(sum.kind))] += sum.count;
    if (sum.kind == ShadeKind::kDown || sum.kind == ShadeKind::kUp || sum.kind == ShadeKind::kSame)
      counts[std::string(kAnyCast)] += sum.count;
  }
  return counts;
}

Counts count_values(const SearchedRun& run, const timeline::Summary& sums, SearchField field) {
  Counts counts;
  for (const timeline::SubjectSum& sum : sums.rows) {
    std::set<std::string, std::less<>> values;  // a definition may have one twice, such as two regions of one name
    each_value(run, sum, field, [&](std::string_view value, bool shown) {
      if (shown) values.emplace(value);
    });
    for (const std::string& value : values) counts[value] += sum.count;
  }
  return counts;
}

// The last of the other words is the one that the page prints.
std::string shown_name_of(SearchField field, const std::string& value) {
  if (field != SearchField::kCause && field != SearchField::kKind) return "";
  const std::vector<std::string> others = other_words(field, value);
  return others.empty() || others.back() == value ? "" : others.back();
}

}  // namespace

std::vector<FieldValue> field_values(const SearchedRun& run, const timeline::Timeline& timeline, SearchField field,
                                     std::string_view text) {
  const bool of_kinds = field == SearchField::kKind;
  timeline::SummaryQuery all{.from = -timeline::kLatestTime, .to = timeline::kLatestTime};
  all.rows = !of_kinds;
  const timeline::Summary sums = timeline.summary(all);
  const std::string wanted = matchable(text);
  std::vector<FieldValue> values;
  for (const auto& [value, events] : of_kinds ? count_kinds(sums) : count_values(run, sums, field)) {
    FieldValue one{value, shown_name_of(field, value), events};
    const bool has_it = matchable(one.value).find(wanted) != std::string::npos ||
                        matchable(one.shown_name).find(wanted) != std::string::npos;
    if (has_it) values.push_back(std::move(one));
  }
  std::stable_sort(values.begin(), values.end(),
                   [](const FieldValue& a, const FieldValue& b) { return a.events > b.events; });
  return values;
}

}  // namespace castscope::web
