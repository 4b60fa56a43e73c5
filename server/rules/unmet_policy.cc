#include "server/rules/unmet_policy.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "server/config/nearest.h"
#include "server/policy/compiled.h"
#include "server/rules/evidence/operators/enforced_policy.h"
#include "server/rules/inquiry/policy_in_force.h"

namespace castscope::rules {
namespace {

constexpr std::size_t kTold = 5;

// Returns the rules that the agent saw take effect, as agent/enforce/met_rules.h writes them.
std::set<std::string> rules_met(const store::RunData& data) {
  std::set<std::string> met;
  for (const store::Process& process : data.processes) {
    for (const auto& [name, value] : process.attributes) {
      if (name == "policy_rule_met") met.insert(value);
    }
  }
  return met;
}

bool all_was_seen(const store::RunData& data) {
  return !data.damage && std::none_of(data.processes.begin(), data.processes.end(), [](const store::Process& process) {
    return !process.attribute("stopped").empty();
  });
}

// Returns the enforced policy, with the places of its rules where the policy is at hand as it was read.
std::shared_ptr<const policy::Policy> enforced(const store::RunData& data, const Settings& settings) {
  const std::string hash = enforced_policy_hash(data);
  if (settings.policy != nullptr && policy::hash_of_compiled(policy::compiled(*settings.policy)) == hash)
    return settings.policy;
  auto policy = policy::restored(data.start.policy);
  return policy.ok() ? std::make_shared<const policy::Policy>(*std::move(policy)) : nullptr;
}

class Unmet {
 public:
  Unmet(const policy::Policy& policy, std::set<std::string> met) : policy_(policy), met_(std::move(met)) {}

  void add_unless_met(std::string_view kind, std::string_view rule, std::string_view place, std::string_view sentence) {
    if (met_.contains(absl::StrCat(std::string(kind), " ", std::string(rule)))) return;
    if (sentences_.size() < kTold) {
      const std::string where = place.empty() ? absl::StrCat("the policy ", policy_.name) : std::string(place);
      sentences_.push_back(absl::StrCat(where, ": ", std::string(sentence)));
    } else {
      ++more_;
    }
  }

  void check_operator(const policy::OperatorName& op, std::string_view place) {
    if (absl::StartsWith(op.name, "aten::") || !told_.insert(op.name).second) return;
    add_unless_met("operator", op.name, place,
                   absl::StrCat("no operator ", op.name,
                                " that may be cast (one that neither writes into an argument nor returns a view of "
                                "one) was registered in this run: the policy's rule for it had no effect"));
  }

  // Only the job knows the arguments of operators that are not PyTorch's.
  void check_arguments(const policy::OperatorName& op, const policy::ArgumentRule& rule) {
    const std::set<std::string> takes = arguments_of(op.name);
    if (takes.empty()) return;
    const std::vector<std::string_view> names(takes.begin(), takes.end());
    for (const std::string& argument : rule.arguments) {
      if (takes.contains(argument)) continue;
      add_unless_met("argument", absl::StrCat(op.name, " ", argument), rule.place,
                     absl::StrCat(op.name, " has no argument \"", argument, "\" that holds a tensor",
                                  config::meant(argument, names), " (it has ", absl::StrJoin(takes, ", "),
                                  "): the never_cast rule had no effect"));
    }
  }

  std::vector<std::string> sentences() && {
    if (more_ > 0)
      sentences_.push_back(
          absl::StrCat(more_, more_ == 1 ? " other rule" : " other rules", " of the policy had no effect either"));
    return std::move(sentences_);
  }

 private:
  // Returns the arguments that hold tensors, of any of the operator's overloads; none where it was not met.
  std::set<std::string> arguments_of(const std::string& op) const {
    std::set<std::string> all;
    const std::string begin = absl::StrCat("arguments ", op, " ");
    for (auto at = met_.lower_bound(begin); at != met_.end() && at->starts_with(begin); ++at)
      for (const absl::string_view word : absl::StrSplit(at->substr(begin.size()), ' '))
        all.emplace(word.data(), word.size());
    return all;
  }

  const policy::Policy& policy_;
  const std::set<std::string> met_;
  std::set<std::string> told_;
  std::vector<std::string> sentences_;
  std::size_t more_ = 0;
};

}  // namespace

std::vector<std::string> unmet_rules(const store::RunData& data, const Settings& settings) {
  if (enforced_policy(data).empty() || data.regions.empty() || !all_was_seen(data)) return {};
  const auto policy = enforced(data, settings);
  if (policy == nullptr) return {};
  Unmet unmet(*policy, rules_met(data));
  for (const policy::ModuleRule& rule : policy->modules)
    unmet.add_unless_met("module", rule.pattern, rule.place,
                         absl::StrCat("no module that ran in a region has a path or a class that \"", rule.pattern,
                                      "\" matches: the rule had no effect"));
  for (const policy::FunctionRule& rule : policy->functions)
    unmet.add_unless_met(
        "function", rule.function, rule.place,
        absl::StrCat(
            "\"", rule.function,
            "\" was never found: its module was not imported, or has no such function; the rule had no effect"));
  for (const auto& [op, rule] : policy->operators) unmet.check_operator(op, rule.place);
  for (const auto& [op, rule] : policy->never_cast) unmet.check_operator(op, rule.place);
  for (const auto& [op, rule] : policy->never_cast) unmet.check_arguments(op, rule);
  for (const policy::ModuleRule& in : policy->modules) {
    if (in.precision.by == nullptr) continue;
    for (const auto& [op, rule] : in.precision.by->never_cast) unmet.check_arguments(op, rule);
  }
  return std::move(unmet).sentences();
}

}  // namespace castscope::rules
