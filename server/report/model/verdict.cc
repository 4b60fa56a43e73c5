#include "server/report/model/verdict.h"

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <tuple>

#include "server/report/model/unjudged.h"
#include "server/report/text/words.h"
#include "server/rules/evidence/counts/step_time.h"
#include "server/rules/evidence/places/packages.h"
#include "server/rules/inquiry/settings.h"
#include "server/rules/rules.h"

namespace castscope::report {
namespace {

double saved_share(const rules::Finding& finding) { return finding.savings ? finding.savings->share_of_step : 0; }

bool may_change_results(const rules::Finding& finding) { return rules::harm_of(finding) == rules::Harm::kResults; }

bool anything_was_cast(const Model& model) {
  return std::ranges::any_of(model.sites, [](const SiteTotal& total) { return total.counts.casts > 0; });
}

std::string share_sentence(const Model& model, const Costs& costs) {
  if (model.gpu.timed()) return "Casts take " + exact_percent(model.gpu.cast_share()) + " of the GPU's time. ";
  if (costs.told_ns == 0)
    return model.totals.compiled.casts > 0 ? "All casts are in compiled graphs, where they are not timed. " : "";
  if (model.run.region_uses.empty()) return "";  // the time of a step is that of its regions
  const rules::StepTime time = rules::step_time(model.run);
  if (time.typical_ns <= 0) return "";
  // The first casts, which mostly are in the first step, are left out.
  const auto steps = static_cast<double>(model.steps);
  const double told = costs.without_first && model.steps > 1 ? steps / (steps - 1) : 1;
  const double share = std::min(1.0, static_cast<double>(costs.told_ns) * told / time.typical_ns);
  return "Casts take " + exact_percent(share) +
         (model.steps > 1 ? " of the step" : " of the time that autocast was in use") +
         (model.totals.compiled.casts > 0 ? ", without those in compiled graphs. " : ". ");
}

// Whether something of the run is missing for another reason than that it ended too early.
bool was_seen_in_part(const Model& model) {
  return std::ranges::all_of(model.missing, [](const store::Incomplete& one) {
    return one.reason == store::IncompleteReason::kRanksMissing ||
           one.reason == store::IncompleteReason::kProcessUnrecorded;
  });
}

// An empty list says little where the job did not come to its end, or was not recorded to its end; nothing where
// nothing was observed.
std::string nothing_found(const Model& model) {
  if (!model.observed && !model.run.damage)
    return std::string("Not observed") + (model.run.end ? "" : " so far") + ": rules had nothing to judge.";
  const std::string judged = unjudged_sentences(model.rules).empty() ? "" : ", as far as rules could judge";
  if (!model.run.end && !model.run.damage) return "No findings so far" + judged + ".";
  if (!model.complete())
    return "No findings in what was seen" + judged +
           (was_seen_in_part(model) ? ": not all of the run was seen." : ": the run was cut short.");
  if (!failure_text(model).empty()) return "No findings in what was seen" + judged + ": the job failed.";
  return "No findings" + judged + ".";
}

std::string findings_sentence(const Model& model) {
  if (model.findings.empty()) return nothing_found(model);
  std::string text = counted(model.findings.size(), "finding", "findings");
  const std::vector<std::size_t> order = by_worth(model);
  const auto worth = static_cast<std::uint64_t>(
      std::ranges::count_if(order, [&](std::size_t at) { return is_worth_mending(model.findings[at]); }));
  if (worth == 0) return text + ", none worth mending today.";
  const auto wrong = static_cast<std::uint64_t>(std::ranges::count_if(model.findings, may_change_results));
  if (model.findings.size() == 1)
    text += wrong > 0 ? ", which may change results: " : ", worth mending today: ";
  else
    text += ", " + grouped(worth) + " worth mending today" +
            (wrong > 0 ? ", " + grouped(wrong) + " may change results: " : ": ");
  text += place(model.run, first_place_of(model.findings[order.front()]));
  return text + (worth > 1 ? " first" : "");
}

}  // namespace

bool is_worth_mending(const rules::Finding& finding) {
  return finding.severity == "error" || finding.severity == "warning" || saved_share(finding) >= kWorthMending;
}

std::vector<std::size_t> by_worth(const Model& model) {
  std::vector<std::size_t> order(model.findings.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t at) {
    const rules::Finding& finding = model.findings[at];
    return std::make_tuple(rules::place_of_severity(finding.severity), !may_change_results(finding),
                           -saved_share(finding));
  });
  return order;
}

std::vector<store::CodeLocation> places_of(const rules::Finding& finding) {
  std::vector<store::CodeLocation> all = finding.related;
  if (finding.location) all.insert(all.begin(), *finding.location);
  const auto own = std::ranges::find_if(all, [](const auto& at) { return !rules::is_in_package(at); });
  if (own != all.end()) std::rotate(all.begin(), own, own + 1);
  return all;
}

std::optional<store::CodeLocation> first_place_of(const rules::Finding& finding) {
  const std::vector<store::CodeLocation> all = places_of(finding);
  return all.empty() ? std::nullopt : std::optional(all.front());
}

std::string exact_percent(double share) {
  if (share > 0 && share < 0.001) return "<0.1 %";
  if (share >= 0.1) return percent(share);
  char text[16];
  std::snprintf(text, sizeof text, "%.1f %%", share * 100);
  return text;
}

std::string verdict(const Model& model, const Costs& costs) {
  const std::string first = anything_was_cast(model) ? share_sentence(model, costs) : totals_line(model) + ". ";
  return model.judged() ? first + findings_sentence(model) : first;
}

}  // namespace castscope::report
