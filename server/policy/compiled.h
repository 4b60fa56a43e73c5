// Compiles a policy into the table that the agent reads: agent/enforce/decided/policy_table.h defines the format and
// reads it.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "server/policy/policy.h"

namespace castscope::policy {

std::string compiled(const Policy&);
std::string hash_of_compiled(std::string_view compiled);
// Reads a compiled policy back, without the places of rules and the names of the policies that it extended.
absl::StatusOr<Policy> restored(std::string_view compiled);

}  // namespace castscope::policy
