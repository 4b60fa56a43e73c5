// Reads one policy file, without the policies that it extends.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/policy/operators.h"
#include "server/policy/policy.h"

namespace castscope::policy {

struct PolicyFile {
  Policy policy;
  struct Parent {
    std::string name;  // as it is written: a shipped policy's name, or a file beside this one
    Place place;
  };
  std::vector<Parent> extends;
};

// `file` is its name in complaints, "FILE:LINE:COLUMN: sentence". Anything that the reader does not fully understand is
// a complaint.
absl::StatusOr<PolicyFile> parse_policy(const std::string& text, const std::string& file, const Operators&);

}  // namespace castscope::policy
