// The run that a living process belongs to.
#pragma once

#include <sys/types.h>

#include <optional>

#include "server/cli/job/run_directory.h"

namespace castscope::cli {

struct Target {
  RunDirectory directory;
  pid_t pid = 0;  // 0 = all processes of the run
};

// `pid` is a process with PyTorch, or the castscope that records a run: then all of its processes are meant. nullopt:
// castscope is in no process of that number.
std::optional<Target> target_of(pid_t pid);

}  // namespace castscope::cli
