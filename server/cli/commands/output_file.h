// Decides where commands may write: never over a file that they read, and not over a user's file without being asked.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace castscope::cli {

bool to_stdout(const std::string& output);  // "" or "-"

// Refuses an existing file unless --force is given, and a file that is read (a run file, a baseline) always. A special
// file (a pipe, /dev/stdout) is written directly.
absl::Status refuse_output(const std::string& output, const std::vector<std::string>& inputs, bool force);

// Runs `write` on standard output or a file. Returns 0, or the exit status after saying what failed. A file appears
// under its name once all of it is written.
int into_output(const std::string& output, const std::function<absl::Status(std::ostream&)>& write);

}  // namespace castscope::cli
