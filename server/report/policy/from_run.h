// Derives the policy that a recorded run followed from what autocast did with each operator.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "server/store/run/run_data.h"

namespace castscope::report {

// Returns a policy file that extends PyTorch's own policy of the device and states each operator that was seen.
// `device`: "cpu", …; "" = the device that the run used autocast on, and an error where there is none, or several.
// `name` is the run's, for a comment.
absl::StatusOr<std::string> policy_followed(const store::RunData&, const std::string& device, const std::string& name);

}  // namespace castscope::report
