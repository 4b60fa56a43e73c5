// Where commands may write what they were asked for: never over what they read, nor over a file of the user's unasked.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace castscope::cli {

bool to_stdout(const std::string& output);  // "" or "-"

// An existing file is the user's until --force, and what is read (a run file, a baseline) for ever. What is no file (a
// pipe, /dev/stdout) is written as it is.
absl::Status refuse_output(const std::string& output, const std::vector<std::string>& inputs, bool force);

// Runs `write` on standard output or a file; 0, or the exit status when something failed, which was said. A file
// appears under its name when all of it is there.
int into_output(const std::string& output, const std::function<absl::Status(std::ostream&)>& write);

}  // namespace castscope::cli
