#include "server/rules/rules.h"

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>

#include "server/rules/judgement.h"
#include "server/rules/list.h"
#include "server/rules/places.h"
#include "server/rules/policy/in_force.h"

namespace castscope::rules {

#define DECLARE(rule) extern const Rule rule;
CASTSCOPE_RULES(DECLARE)
#undef DECLARE

namespace {

#define ADDRESS(rule) &rule,
constexpr std::array kRules = {CASTSCOPE_RULES(ADDRESS)};
#undef ADDRESS

// Of an installed package, which the user may have chosen but did not write.
bool is_in_package(const store::CodeLocation& frame) { return frame.file.find("-packages/") != std::string::npos; }

// The innermost line that is the user's own and in no package; nothing when there is none.
std::optional<store::CodeLocation> line_outside_packages(const store::RunData& data, std::uint32_t stack) {
  const auto& frames = frames_of(data, stack);
  const auto found = std::find_if(frames.begin(), frames.end(), [&](const store::CodeLocation& frame) {
    return store::is_users_own(frame, data.torch_folders) && !is_in_package(frame);
  });
  return found == frames.end() ? std::nullopt : std::optional(*found);
}

}  // namespace

double Inquiry::threshold(std::string_view name) const {
  if (const auto of_rule = settings_.thresholds.find(rule_.name); of_rule != settings_.thresholds.end())
    if (const auto set = of_rule->second.find(name); set != of_rule->second.end()) return set->second;
  for (const Threshold& threshold : rule_.thresholds)
    if (threshold.name == name) return threshold.value;
  return 0;
}

std::shared_ptr<const policy::Policy> Inquiry::policy() const { return policy_in_force(data, settings_); }

Finding& Inquiry::add(std::uint32_t stack, std::string_view severity) {
  Finding& finding = findings_.emplace_back();
  finding.rule = rule_.name;
  const auto set = settings_.severity.find(rule_.name);
  finding.severity = set != settings_.severity.end() ? std::string_view(set->second) : severity;
  finding.location = data.user_location(stack);
  if (finding.location && is_in_package(*finding.location))
    if (const auto caller = line_outside_packages(data, stack)) finding.related.push_back(*caller);
  return finding;
}

std::span<const Rule* const> all_rules() { return kRules; }

const Rule* find_rule(std::string_view name) {
  const auto it = std::find_if(kRules.begin(), kRules.end(), [&](const Rule* rule) { return rule->name == name; });
  return it == kRules.end() ? nullptr : *it;
}

std::vector<Finding> judge(const store::RunData& data, const Settings& settings) {
  std::vector<Finding> findings;
  for (const Rule* rule : kRules) {
    if (!settings.selects(rule->name)) continue;
    Inquiry inquiry(*rule, data, settings);
    rule->judge(inquiry);
    for (Finding& finding : inquiry.take()) findings.push_back(std::move(finding));
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

absl::Status record_findings(store::RunStore& store, const Settings& settings) {
  const absl::StatusOr<store::RunData> data = store.read();
  if (!data.ok()) return data.status();
  return store.set_findings(judgement_of(*data, settings).findings);
}

}  // namespace castscope::rules
