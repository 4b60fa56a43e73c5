// Reads a policy with all that it extends, and with the policies that its modules name.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "server/policy/operators.h"
#include "server/policy/policy.h"

namespace castscope::policy {

// `name`: of a shipped policy ("torch-cpu"), or a file. In a file, other files are named from its own folder on.
// What a policy says itself stands above what it extends: of an operator, all overloads when it names none. Of two that
// it extends, neither stands above the other: where they disagree, it must say itself.
absl::StatusOr<Policy> load(const std::string& name, const Operators& = Operators::of_pytorch());

}  // namespace castscope::policy
