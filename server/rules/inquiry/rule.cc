#include "server/rules/inquiry/rule.h"

#include <algorithm>
#include <array>
#include <optional>

#include "server/rules/evidence/places/packages.h"
#include "server/rules/evidence/places/places.h"
#include "server/rules/inquiry/policy_in_force.h"

namespace castscope::rules {

namespace {

// Returns the innermost line that is the user's own and in no package; nothing when there is none.
std::optional<store::CodeLocation> line_outside_packages(const store::RunData& data, store::StackId stack) {
  const auto& frames = frames_of(data, stack);
  const auto found = std::find_if(frames.begin(), frames.end(), [&](const store::CodeLocation& frame) {
    return store::is_users_own(frame, data.torch_folders) && !is_in_package(frame);
  });
  return found == frames.end() ? std::nullopt : std::optional(*found);
}

}  // namespace

std::string_view name(Harm harm) {
  constexpr std::array<std::string_view, 6> kNames = {"none", "time", "memory", "precision", "results", "error"};
  return kNames[static_cast<std::size_t>(harm)];
}

std::string_view words(Harm harm) {
  constexpr std::array<std::string_view, 6> kWords = {
      "", "costs time", "costs memory", "another precision than meant", "may change results", "raises an error"};
  return kWords[static_cast<std::size_t>(harm)];
}

double Inquiry::threshold(std::string_view name) const {
  if (const auto of_rule = settings_.thresholds.find(rule_.name); of_rule != settings_.thresholds.end())
    if (const auto set = of_rule->second.find(name); set != of_rule->second.end()) return set->second;
  for (const Threshold& threshold : rule_.thresholds)
    if (threshold.name == name) return threshold.value;
  return 0;
}

std::shared_ptr<const policy::Policy> Inquiry::policy() const { return policy_in_force(data, settings_); }

std::vector<Finding> Inquiry::take() {
  for (Finding& finding : findings_) {
    std::vector<store::CodeLocation> related;
    for (store::CodeLocation& at : finding.related) {
      const auto same = [&](const store::CodeLocation& other) {
        return at.file == other.file && at.line == other.line;
      };
      if ((finding.location && same(*finding.location)) || std::ranges::any_of(related, same)) continue;
      related.push_back(std::move(at));
    }
    finding.related = std::move(related);
    if (!finding.location) continue;
    const std::string own_switch = switch_of_library(*finding.location);
    if (!own_switch.empty()) finding.fix += (finding.fix.ends_with('.') ? " " : ". ") + own_switch;
  }
  return std::move(findings_);
}

Finding& Inquiry::add(store::StackId stack, std::string_view severity) {
  Finding& finding = findings_.emplace_back();
  finding.rule = rule_.name;
  const auto set = settings_.severity.find(rule_.name);
  finding.severity = set != settings_.severity.end() ? std::string_view(set->second) : severity;
  finding.location = data.user_location(stack);
  if (finding.location && is_in_package(*finding.location))
    if (const auto caller = line_outside_packages(data, stack)) finding.related.push_back(*caller);
  return finding;
}

}  // namespace castscope::rules
