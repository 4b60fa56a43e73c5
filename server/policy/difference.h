// How two policies differ: operator by operator, overload by overload.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "server/policy/operators.h"
#include "server/policy/policy.h"

namespace castscope::policy {

struct OperatorChange {
  OperatorName op;  // without an overload where all of them change alike
  CastPolicy before{}, after{};
  bool operator==(const OperatorChange&) const = default;
};

// "cache max_bytes", "2147483648", "not said".
struct SettingChange {
  std::string what, before, after;
  bool operator==(const SettingChange&) const = default;
};

struct PolicyDifference {
  std::vector<OperatorChange> operators;  // by before, after, name
  std::vector<SettingChange> settings;    // device, dtype, default_dtype, never_cast, modules, functions, cache
  bool any() const { return !operators.empty() || !settings.empty(); }
};

PolicyDifference difference_of(const Policy& before, const Policy& after, const Operators& = Operators::of_pytorch());

}  // namespace castscope::policy
