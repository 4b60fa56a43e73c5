#include "server/policy/elsewhere.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "server/policy/functions.h"
#include "server/policy/load.h"

namespace castscope::policy {
namespace {

std::map<std::string, Policy, std::less<>> all_of_pytorchs() {
  std::map<std::string, Policy, std::less<>> all;
  for (const std::string_view device : kDeviceNames) {
    if (device == "any") continue;
    auto policy = load(absl::StrCat("torch-", std::string(device)));
    if (policy.ok()) all.emplace(device, *std::move(policy));  // it is shipped; a test reads it
  }
  return all;
}

const std::map<std::string, Policy, std::less<>>& pytorchs() {
  static const auto* const all = new std::map<std::string, Policy, std::less<>>(all_of_pytorchs());
  return *all;
}

bool casts(CastPolicy policy) { return policy != CastPolicy::kPassthrough && policy != CastPolicy::kPromote; }

// For an operator that is made of others and left alone, returns the policy of those others, products first.
CastPolicy decisive(const Policy& policy, const OperatorName& op) {
  CastPolicy found = CastPolicy::kPassthrough;
  for (const Way& way : Functions::of_pytorch().below(op)) {
    for (const Step& step : way) {
      const Decision decision = decide(policy, step.op);
      if (!decision.ruled) continue;
      if (decision.policy == CastPolicy::kLowerPrecision) return decision.policy;
      if (casts(decision.policy)) found = decision.policy;
      break;
    }
  }
  return found;
}

CastPolicy effective(const Policy& policy, const OperatorName& op) {
  const Decision decision = decide(policy, op);
  return decision.ruled ? decision.policy : decisive(policy, op);
}

CastPolicy effective_on(std::string_view device, const OperatorName& op) {
  const auto policy = pytorchs().find(device);
  return policy == pytorchs().end() ? CastPolicy::kPassthrough : effective(policy->second, op);
}

}  // namespace

Decision on_device(std::string_view device, const OperatorName& op) {
  const auto policy = pytorchs().find(device);
  return policy == pytorchs().end() ? Decision{} : decide(policy->second, op);
}

Computed computes_on(std::string_view device, const OperatorName& op, Given given) {
  switch (effective_on(device, op)) {
    case CastPolicy::kLowerPrecision:
      return Computed::kLow;
    case CastPolicy::kFp32:
    case CastPolicy::kFp32SetOptDtype:
    case CastPolicy::kFp32AppendDtype:
      return Computed::kFloat32;
    case CastPolicy::kBanned:
      return Computed::kRaises;
    case CastPolicy::kPromote:
    case CastPolicy::kPassthrough:
      break;
  }
  // Where autocast leaves mixed dtypes, the operator promotes them itself, or raises.
  return given == Given::kLow ? Computed::kLow : Computed::kFloat32;
}

std::vector<Elsewhere> elsewhere(std::string_view device, const OperatorName& op, Given given) {
  std::vector<Elsewhere> others;
  const Computed here = computes_on(device, op, given);
  for (const auto& [other, policy] : pytorchs()) {
    const Computed there = computes_on(other, op, given);
    if (other != device && there != here) others.push_back({other, effective(policy, op), there});
  }
  return others;
}

}  // namespace castscope::policy
