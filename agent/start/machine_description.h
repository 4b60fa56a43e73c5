// The attributes of a process that say on what machine it runs: system, processor, memory, threads.
#pragma once

#include "agent/session/process.h"

namespace castscope::agent {

// Reads /proc and /etc once; what cannot be read is left out.
void describe_machine(Definitions& d);

}  // namespace castscope::agent
