// Compares two policies, by operator and overload, and by Python function.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "server/policy/functions.h"
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

// A change for a function that one calls from Python, or a class of torch.nn (functions.h): the decisions for the
// operators that it ends in, "fp32, passthrough"; or the decision for the function itself, "float as a whole"; or "not
// reached".
struct FunctionChange {
  std::string function, before, after;
  bool operator==(const FunctionChange&) const = default;
};

struct PolicyDifference {
  std::vector<OperatorChange> operators;       // by before, after, name
  std::vector<SettingChange> settings;         // device, dtype, default_dtype, never_cast, modules, functions, cache
  std::vector<FunctionChange> functions = {};  // by before, after, name
  bool any() const { return !operators.empty() || !settings.empty() || !functions.empty(); }
};

PolicyDifference difference_of(const Policy& before, const Policy& after, const Operators& = Operators::of_pytorch(),
                               const Functions& = Functions::of_pytorch());

}  // namespace castscope::policy
