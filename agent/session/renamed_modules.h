// A thread's rows of sites in modules that have been renamed.
#pragma once

#include "agent/session/thread_state.h"

namespace castscope::agent {

// Forgets the rows of modules that were renamed since the last call: their next call is named anew.
void drop_renamed_modules(ThreadState& t);

}  // namespace castscope::agent
