#include "server/policy/elsewhere.h"

#include <map>

#include "absl/strings/str_cat.h"
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

}  // namespace

Decision on_device(std::string_view device, const OperatorName& op) {
  const auto policy = pytorchs().find(device);
  return policy == pytorchs().end() ? Decision{} : decide(policy->second, op);
}

Computed computes_on(std::string_view device, const OperatorName& op, Given given) {
  switch (on_device(device, op).policy) {
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
  // Where autocast leaves a mixture, the operator promotes it itself, or refuses it.
  return given == Given::kLow ? Computed::kLow : Computed::kFloat32;
}

std::vector<Elsewhere> elsewhere(std::string_view device, const OperatorName& op, Given given) {
  std::vector<Elsewhere> others;
  const Computed here = computes_on(device, op, given);
  for (const auto& [other, policy] : pytorchs()) {
    const Computed there = computes_on(other, op, given);
    if (other != device && there != here) others.push_back({other, decide(policy, op).policy, there});
  }
  return others;
}

}  // namespace castscope::policy
