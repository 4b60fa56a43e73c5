// Finds, from a job's command and from the environment alone, what would keep castscope's variables from the job's
// processes.
#pragma once

#include <string>
#include <vector>

#include "server/cli/doctor/check.h"

namespace castscope::cli {

// `command` is the job as `castscope run` would start it: "sudo -u me python train.py". Empty: nothing is known against
// it.
std::vector<Check> command_checks(const std::vector<std::string>& command);

// Examines the environment of this very process, which is a job's where doctor runs in its place, in a container or
// behind a launcher. Tells which of castscope's variables did not arrive, or name what is not there. Empty: all did, or
// none.
std::vector<Check> environment_checks();

}  // namespace castscope::cli
