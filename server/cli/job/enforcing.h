// What a job is told of the policy that it is to enforce.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace castscope::cli {

// --apex: what `import apex` finds, and whose lists count unless another policy is asked for.
inline constexpr char kApexVariable[] = "CASTSCOPE_APEX=1";
inline constexpr char kApexPolicy[] = "apex-o1-any";
inline constexpr char kApexHelp[] =
    "Run code written for apex.amp: where no apex is installed, `import apex` finds castscope.amp; apex's lists decide "
    "(--enforce apex-o1-any), in all threads that are started after amp.init()";

// NAME=VALUE each. `path`: the file that holds `compiled` (policy::compiled()) as long as the job runs.
std::vector<std::string> enforcing_variables(const std::string& compiled, const std::string& path, bool all_kernels);

// Puts it into the cache folder, for jobs that castscope does not start; the same text is there once. Its path.
absl::StatusOr<std::string> keep_compiled(const std::string& compiled);

}  // namespace castscope::cli
