#include "server/policy/decide.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "agent/enforce/decided/pattern.h"
#include "server/policy/load.h"
#include "server/policy/shipped.h"

namespace castscope::policy {
namespace {

using absl::StrCat;

template <typename Rule>
const std::pair<const OperatorName, Rule>* rule_for(const std::map<OperatorName, Rule>& rules, const OperatorName& op) {
  auto found = rules.find(op);
  if (found == rules.end()) found = rules.find({op.name, ""});
  return found == rules.end() ? nullptr : &*found;
}

// Parsing a pattern takes longer than a decision, and a policy is asked for every operator in every module. The readers
// of policies (policy_file.cc, agent/enforce/decided/policy_table.cc) have already refused invalid patterns.
const std::optional<enforce::Pattern>& parsed(const std::string& pattern) {
  thread_local std::map<std::string, std::optional<enforce::Pattern>> known;
  const auto [at, is_new] = known.try_emplace(pattern);
  if (std::string error; is_new) at->second = enforce::Pattern::parse(pattern, &error);
  return at->second;
}

bool matches(const std::string& text, const ModuleUse& module) {
  const std::optional<enforce::Pattern>& pattern = parsed(text);
  const auto is_it = [&](const std::string& name) { return pattern && pattern->matches_all(name); };
  return is_it(module.path) || std::any_of(module.classes.begin(), module.classes.end(), is_it);
}

std::set<OperatorName> all_listed() {
  std::set<OperatorName> all;
  for (const std::string_view name : shipped_names()) {
    if (!name.starts_with("torch-")) continue;
    const auto policy = load(std::string(name));
    if (!policy.ok()) continue;
    for (const auto& [op, rule] : policy->operators) all.insert(op);
  }
  return all;
}

Decision by_operator(const Policy& policy, const OperatorName& op) {
  Decision decision;
  decision.dtype = policy.dtype.value_or(Dtype::kAmbient);
  const auto* const rule = rule_for(policy.operators, op);
  if (rule == nullptr) {
    decision.because.push_back({StrCat("no rule of ", policy.name, " names it"), ""});
    return decision;
  }
  const auto& [written, said] = *rule;
  decision.policy = said.policy;
  decision.ruled = true;
  decision.message = said.message;
  decision.because.push_back(
      {StrCat("operators ", std::string(name(said.policy)), " \"", shown(written), "\""), said.place});
  return decision;
}

// Decides for the operator in a module of this precision, where `usual` would hold elsewhere.
Decision in_module(const Precision& precision, const OperatorName& op, Decision usual) {
  switch (precision.kind) {
    case Precision::Kind::kFp32:
      if (usual.policy != CastPolicy::kPassthrough || known_to_autocast(op)) usual.policy = CastPolicy::kFp32;
      usual.ruled |= usual.policy == CastPolicy::kFp32;
      break;
    case Precision::Kind::kPassthrough:
      usual.policy = CastPolicy::kPassthrough;
      usual.ruled = true;
      break;
    case Precision::Kind::kLower:
      usual.dtype = precision.dtype;
      break;
    case Precision::Kind::kPolicy: {
      Decision other = by_operator(*precision.by, op);
      other.because.insert(other.because.end(), usual.because.begin(), usual.because.end());
      return other;
    }
  }
  return usual;
}

void add_exceptions(const Policy& policy, const OperatorName& op, Decision& decision) {
  const auto* const rule = rule_for(policy.never_cast, op);
  if (rule == nullptr) return;
  for (const std::string& argument : rule->second.arguments) {
    if (std::find(decision.never_cast.begin(), decision.never_cast.end(), argument) != decision.never_cast.end())
      continue;
    decision.never_cast.push_back(argument);
    decision.exceptions.push_back(
        {StrCat("never_cast \"", argument, "\" of \"", shown(rule->first), "\""), rule->second.place});
  }
}

}  // namespace

const std::set<OperatorName>& on_pytorchs_lists() {
  static const auto* const all = new std::set<OperatorName>(all_listed());
  return *all;
}

bool known_to_autocast(const OperatorName& op) {
  return on_pytorchs_lists().contains(op) || on_pytorchs_lists().contains({op.name, ""});
}

const ModuleRule* rule_of(const Policy& policy, const std::vector<ModuleUse>& modules) {
  for (auto module = modules.rbegin(); module != modules.rend(); ++module) {
    for (auto rule = policy.modules.rbegin(); rule != policy.modules.rend(); ++rule) {
      if (matches(rule->pattern, *module)) return &*rule;
    }
  }
  return nullptr;
}

Decision decide(const Policy& policy, const OperatorName& op, const std::vector<ModuleUse>& modules) {
  Decision decision = by_operator(policy, op);
  const ModuleRule* const module = rule_of(policy, modules);
  if (module != nullptr) {
    decision = in_module(module->precision, op, std::move(decision));
    decision.because.insert(decision.because.begin(),
                            {StrCat("modules \"", module->pattern, "\" → ", shown(module->precision)), module->place});
    if (module->precision.by != nullptr) add_exceptions(*module->precision.by, op, decision);
  }
  add_exceptions(policy, op, decision);
  return decision;
}

std::vector<ModuleUse> modules_of(const std::string& path, const std::string& class_name) {
  std::vector<ModuleUse> modules = {{"", {}}};
  for (std::size_t dot = path.find('.'); dot != path.npos; dot = path.find('.', dot + 1))
    modules.push_back({path.substr(0, dot), {}});
  if (!path.empty()) modules.push_back({path, {}});
  if (!class_name.empty()) modules.back().classes.push_back(class_name);
  return modules;
}

}  // namespace castscope::policy
