// What a job is told of the policy that it is to enforce.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace castscope::cli {

// NAME=VALUE each. `path`: the file that holds `compiled` (policy::compiled()) as long as the job runs.
std::vector<std::string> enforcing_variables(const std::string& compiled, const std::string& path, bool all_kernels);

// Puts it into the cache folder, for jobs that castscope does not start; the same text is there once. Its path.
absl::StatusOr<std::string> keep_compiled(const std::string& compiled);

}  // namespace castscope::cli
