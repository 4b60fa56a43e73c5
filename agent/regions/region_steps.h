// Begins and ends steps as regions are entered and used: steps.h has the rule.
#pragma once

#include "agent/session/process.h"

namespace castscope::agent {

// The thread enters its outermost region. `stands`: castscope.amp keeps it open over steps.
void outermost_entered(ThreadState& t, bool stands);
// Autocast is asked for something, for the first time since the region was entered or an optimizer stepped, and the
// outermost region stands open over steps.
void asked_in_standing_region(ThreadState& t);
// An optimizer stepped in this thread, or its step was skipped.
void step_ended(ThreadState& t);

}  // namespace castscope::agent
