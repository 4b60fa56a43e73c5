#include "server/rules/rules.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "server/rules/list.h"

namespace castscope::rules {

#define DECLARE(name)     \
  namespace name {        \
  extern const Rule rule; \
  }
CASTSCOPE_RULES(DECLARE)
#undef DECLARE

namespace {

// What is hardly worth a change is told, and fails no check. A severity that somebody set stays.
void lower_what_saves_little(const Settings& settings, Finding& finding) {
  if (finding.severity != "performance" || !finding.savings || settings.severity.contains(finding.rule)) return;
  const double share = finding.savings->share_of_step;
  if (share > 0 && share < settings.min_step_share) finding.severity = "info";
}

#define ADDRESS(name) &name::rule,
constexpr std::array kRules = {CASTSCOPE_RULES(ADDRESS)};
#undef ADDRESS

}  // namespace

std::span<const Rule* const> all_rules() { return kRules; }

const Rule* find_rule(std::string_view name) {
  const auto it = std::find_if(kRules.begin(), kRules.end(), [&](const Rule* rule) { return rule->name == name; });
  return it == kRules.end() ? nullptr : *it;
}

Harm harm_of(const Finding& finding) {
  const Rule* const rule = find_rule(finding.rule);
  return rule == nullptr || finding.severity == "info" ? Harm::kNone
         : finding.severity == "performance"           ? Harm::kTime
                                                       : rule->harm;
}

std::vector<Finding> judge(const store::RunData& data, const Settings& settings) {
  if (data.damage && data.damage->evidence) return {};
  std::vector<Finding> findings;
  for (const Rule* rule : kRules) {
    if (!settings.selects(rule->name)) continue;
    Inquiry inquiry(*rule, data, settings);
    rule->judge(inquiry);
    for (Finding& finding : inquiry.take()) {
      lower_what_saves_little(settings, finding);
      findings.push_back(std::move(finding));
    }
  }
  const auto order = [](const Finding& f) {
    const store::CodeLocation at = f.location.value_or(store::CodeLocation());
    return std::make_tuple(place_of_severity(f.severity), std::string_view(f.rule), at.file, at.line,
                           std::string_view(f.title));
  };
  std::stable_sort(findings.begin(), findings.end(),
                   [&](const Finding& a, const Finding& b) { return order(a) < order(b); });
  return findings;
}

}  // namespace castscope::rules
