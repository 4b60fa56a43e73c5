// Runs short-lived programs, such as Python or a compiler, and returns their answers.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace castscope::cli {

struct ChildResult {
  int status = 0;  // as in a shell: 128 + signal when it was killed
  std::string out, err;
};

struct ChildOptions {
  std::string folder = {};                    // where it runs; "" = the current folder
  std::vector<std::string> environment = {};  // NAME=VALUE in addition to our own
  // Asked now and then while the command runs. Once it says yes, the command is killed, and the result is an error.
  std::function<bool()> is_too_late = {};
};

// Runs the command to its end, with an empty stdin. An error means that it could not be started.
absl::StatusOr<ChildResult> run_child(const std::vector<std::string>& command, const ChildOptions& options = {});

// Runs all commands, `at_once` at a time, in the given folder; stops at the first that fails and returns its message.
absl::Status run_children(const std::vector<std::vector<std::string>>& commands, int at_once,
                          const ChildOptions& options = {});

// The path of this very program, with links resolved.
std::string program_path();

// Finds a program as execvp does: "" when there is none. A name with a slash is taken as it is.
std::string find_in_path(const std::string& name);

std::vector<std::string> environment_with(const std::vector<std::string>& changes);

}  // namespace castscope::cli
