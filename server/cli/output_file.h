// Where commands may write what they were asked for: never over what they read, nor over a file of the user's unasked.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace castscope::cli {

bool to_stdout(const std::string& output);  // "" or "-"

// An existing file is the user's until --force, and what is read (a run file, a baseline) for ever. What is no file (a
// pipe, /dev/stdout) is written as it is.
absl::Status refuse_output(const std::string& output, const std::vector<std::string>& inputs, bool force);

}  // namespace castscope::cli
