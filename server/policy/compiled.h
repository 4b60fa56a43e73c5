// A policy as the agent reads it: see agent/enforce/decided/policy_table.h, which is the format and its reader.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "server/policy/policy.h"

namespace castscope::policy {

std::string compiled(const Policy&);
std::string hash_of_compiled(std::string_view compiled);
// What it was made of, but for places and what it extended.
absl::StatusOr<Policy> restored(std::string_view compiled);

}  // namespace castscope::policy
