// What between `castscope run` and a job's processes takes castscope's environment away: known from the command alone.
#pragma once

#include <string>
#include <vector>

#include "server/cli/doctor/check.h"

namespace castscope::cli {

// `command` is the job as `castscope run` would start it: "sudo -u me python train.py". Empty: nothing is known against
// it.
std::vector<Check> command_checks(const std::vector<std::string>& command);

// `preload`: LD_PRELOAD of this very environment, as a process of a job has it. Tells what is missing where castscope's
// variables arrived in part, as in a container or behind a launcher. Empty: castscope's variables are all there, or
// none.
std::vector<Check> environment_checks();

}  // namespace castscope::cli
