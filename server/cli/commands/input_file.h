// The sentences about a file that cannot be read: the same ones, whichever command was given the file.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace castscope::cli {

// `status` is what went wrong when `file` was read. Returns one that says "FILE cannot be read: No such file or
// directory" if the system does not let anybody read it; otherwise `status`.
absl::Status about_input(const std::string& file, const absl::Status& status);

// The same for a file that must be a run file: the sentence says which one may be meant, and of a report, what can be
// done with it.
absl::Status about_run_file(const std::string& file, const absl::Status& status);

}  // namespace castscope::cli
