// A thread's rows of sites in modules that have another name by now.
#pragma once

#include "agent/session/thread_state.h"

namespace castscope::observe {

// Forgets the rows of modules that were given another name since this was last asked: their next call is named anew.
void drop_renamed_modules(ThreadState& t);

}  // namespace castscope::observe
