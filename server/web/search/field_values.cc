#include "server/web/search/field_values.h"

#include <algorithm>
#include <map>
#include <set>

namespace castscope::web {
namespace {

using timeline::ShadeKind;
using timeline::TrackKind;

// The events of one value. The key of a map of them is the form of the value that searches compare.
struct Count {
  std::string shown;  // "" = the page does not print the value: it is another word for one that it does print
  std::uint64_t events = 0;
};
using Counts = std::map<std::string, Count, std::less<>>;

// Calls `take` for each value of what the sum is of.
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
    case TrackKind::kMarks:
      return tell(data.facts.find(store::FactId(sum.subject)));
    default:
      return;
  }
}

Counts count_kinds(const timeline::Summary& sums) {
  Counts counts;
  const auto add = [&](std::string_view word, std::uint64_t events) {
    Count& count = counts[matchable(word)];
    count.shown = word;
    count.events += events;
  };
  for (const timeline::KindSum& sum : sums.kinds) {
    add(kind_word(sum.kind), sum.count);
    if (sum.kind == ShadeKind::kDown || sum.kind == ShadeKind::kUp || sum.kind == ShadeKind::kSame)
      add(kAnyCast, sum.count);
  }
  return counts;
}

Counts count_values(const SearchedRun& run, const timeline::Summary& sums, SearchField field) {
  Counts counts;
  for (const timeline::SubjectSum& sum : sums.rows) {
    std::set<Count*> values;  // a definition may have one twice, such as two regions of one name
    each_value(run, sum, field, [&](std::string_view value, bool shown) {
      Count& count = counts[matchable(value)];
      if (shown && count.shown.empty()) count.shown = value;
      values.insert(&count);
    });
    for (Count* const count : values) count->events += sum.count;
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
  all.modules = true;
  const timeline::Summary sums = timeline.summary(all);
  const std::string wanted = matchable(text);
  std::vector<FieldValue> values;
  for (auto& [form, count] : of_kinds ? count_kinds(sums) : count_values(run, sums, field)) {
    if (count.shown.empty()) continue;
    FieldValue one{count.shown, shown_name_of(field, count.shown), count.events};
    const bool has_it =
        form.find(wanted) != std::string::npos || matchable(one.shown_name).find(wanted) != std::string::npos;
    if (has_it) values.push_back(std::move(one));
  }
  std::stable_sort(values.begin(), values.end(),
                   [](const FieldValue& a, const FieldValue& b) { return a.events > b.events; });
  return values;
}

}  // namespace castscope::web
