// The policy that a recorded run followed: what autocast was seen to do with each operator.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "server/store/run/run_data.h"

namespace castscope::report {

// A policy file that extends PyTorch's own of that device and states each operator that was seen. `device`: "cpu", …;
// "" = the one that the run used autocast on; an error where there is none, or several. `name`: of the run, for a
// comment.
absl::StatusOr<std::string> policy_followed(const store::RunData&, const std::string& device, const std::string& name);

}  // namespace castscope::report
