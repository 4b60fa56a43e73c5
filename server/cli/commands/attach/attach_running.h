// `castscope attach` for a job that castscope did not start: brings castscope into the process, and records it.
#pragma once

#include <string>

#include "server/cli/job/run_directory.h"

namespace castscope::cli {

struct AttachRunning {
  int pid = 0;
  std::string output;
  bool by_gdb = false, force = false;
  bool stays = false;  // after a detach, for whoever attaches again
};

// Returns at the job's end, or when somebody interrupts it or detaches: castscope lets go of the job then, which goes
// on. Returns the exit status.
int attach_to_running(const AttachRunning& options);

// The same for a process that castscope is in, and that nobody records any more.
int record_again(const AttachRunning& options, const RunDirectory& directory);

}  // namespace castscope::cli
