// Explains what a policy decides for an operator, or for a function that Python code calls, and why.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "absl/status/statusor.h"
#include "server/policy/policy.h"

namespace castscope::report {

struct Asked {
  std::string name;  // "linear", "sum.dim_IntList", "torch.norm", "normalize"
  std::string module, class_name;
};

struct Explanation {
  std::string text;
  nlohmann::ordered_json list = nlohmann::ordered_json::array();  // of decisions, or of one function's fate
};
// Returns an error where neither an operator nor a function has this name.
absl::StatusOr<Explanation> explained(const policy::Policy&, const Asked&, int width);

}  // namespace castscope::report
