// Why castscope saw no process with PyTorch in a job that has ended: what the user reads in place of casts.
#pragma once

#include <string>
#include <vector>

#include "server/cli/job/job_end.h"

namespace castscope::cli {

struct NothingSeen {
  std::string sentence;
  bool never_began = false;  // not a line of the job's script ran: there is nothing to keep
};

// Asks the job's Python, where the command names one. Call it only if nothing was seen.
NothingSeen why_nothing_was_seen(const std::vector<std::string>& command, const JobEnd& end);

// Returns the file that this command has Python run, as the command names it: "train.py" for `python -u train.py`. "" =
// none, or it is not clear: `python -m train`, `sh train.sh`, `env -C folder python train.py`.
std::string script_of(const std::vector<std::string>& command);

}  // namespace castscope::cli
