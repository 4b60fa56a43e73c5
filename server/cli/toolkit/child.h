// Short-lived programs that castscope asks for something: Python, a compiler.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace castscope::cli {

struct ChildResult {
  int status = 0;  // as a shell would give it: 128 + signal when it was killed
  std::string out, err;
};

struct ChildOptions {
  std::string folder;                    // to run in; "" = here
  std::vector<std::string> environment;  // NAME=VALUE on top of our own
};

// Runs it to its end, stdin empty. An error means that it could not be started.
absl::StatusOr<ChildResult> run_child(const std::vector<std::string>& command, const ChildOptions& options = {});

// Runs all of them, `at_once` at a time, in the given folder; stops at the first that fails and returns its message.
absl::Status run_children(const std::vector<std::vector<std::string>>& commands, int at_once,
                          const ChildOptions& options = {});

// As execvp finds it: "" when there is none. A name with a slash is taken as it is.
std::string find_in_path(const std::string& name);

std::vector<std::string> environment_with(const std::vector<std::string>& changes);

}  // namespace castscope::cli
