// Reads a policy with all policies that it extends, and those that its modules name.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "server/policy/operators.h"
#include "server/policy/policy.h"

namespace castscope::policy {

// `name` is a shipped policy ("torch-cpu") or a file. A file names other files relative to its own folder. A policy's
// own rules take precedence over those of the policies that it extends: a rule for an operator that names no overload
// covers all of them. Of two extended policies neither takes precedence: where they disagree, the policy must decide
// itself.
absl::StatusOr<Policy> load(const std::string& name, const Operators& = Operators::of_pytorch());

// Whether it is a file that says of itself that it is a JSON Schema: policies' own lies beside the shipped ones.
bool is_json_schema(const std::string& name);

}  // namespace castscope::policy
