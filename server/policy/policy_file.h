// Reads one policy file, without those that it extends.
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

// `file` names it in complaints: "FILE:LINE:COLUMN: sentence". Whatever is not fully understood is one.
absl::StatusOr<PolicyFile> parse_policy(const std::string& text, const std::string& file, const Operators&);

}  // namespace castscope::policy
