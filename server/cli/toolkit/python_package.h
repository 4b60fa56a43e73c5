// The Python package castscope, which `castscope run` lends to jobs whose Python has none.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace castscope::cli {

// Returns the folder of the extracted package, for the job's module path.
absl::StatusOr<std::string> obtain_python_package();

}  // namespace castscope::cli
