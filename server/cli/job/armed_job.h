// A job that is armed: castscope watches nothing in it until somebody attaches.
#pragma once

#include <string>

#include "server/cli/job/run_directory.h"

namespace castscope::cli {

// Whether CASTSCOPE_ARMED arms the jobs that are started here; as control_arms() of agent/preload/control.c decides it.
bool is_armed_by_environment();

// Why nothing of an armed job was watched, for its report; "" = something was, or the job itself has said why not.
std::string why_unwatched(const RunDirectory& directory, bool somebody_attached);

}  // namespace castscope::cli
