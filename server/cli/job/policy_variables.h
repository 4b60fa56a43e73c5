// The variables that tell a job which policy to enforce.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace castscope::cli {

// --apex: makes `import apex` work; apex's lists count unless another policy is asked for.
inline constexpr char kApexVariable[] = "CASTSCOPE_APEX=1";
inline constexpr char kApexPolicy[] = "apex-o1-any";
inline constexpr char kApexHelp[] =
    "Run code written for apex.amp: where no apex is installed, `import apex` finds castscope.amp; apex's lists decide "
    "(--enforce apex-o1-any), in all threads that are started after amp.init()";

// --enforce-if-possible.
inline constexpr char kEnforceIfPossibleHelp[] =
    "With --enforce or --apex: where the policy cannot be carried out, the job runs without it and says so. Without "
    "this "
    "option such a job is not started; where PyTorch is met only inside the job, the process that loads it ends with "
    "status 125";
inline constexpr char kIfPossibleAlone[] = "--enforce-if-possible goes with --enforce or --apex";

// Returns variables NAME=VALUE. `path` is the file that holds `compiled` (policy::compiled()) as long as the job runs.
std::vector<std::string> enforcing_variables(const std::string& compiled, const std::string& path, bool all_kernels,
                                             bool if_possible);

// Writes the compiled policy into the cache folder, for jobs that castscope does not start; equal texts share a file.
// Returns its path.
absl::StatusOr<std::string> keep_compiled(const std::string& compiled);

}  // namespace castscope::cli
