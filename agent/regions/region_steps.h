// Begins and ends steps as regions are entered and used: steps.h has the rule.
#pragma once

#include "agent/session/process.h"

namespace castscope::agent {

// The thread enters its outermost region. `stands`: castscope.amp keeps it open over steps. `place`: the stack that
// enters it, 0 = not known.
void outermost_entered(ThreadState& t, bool stands, std::uint32_t place);
// Autocast is asked for something, for the first time since the region was entered or an optimizer stepped, and the
// outermost region stands open over steps.
void asked_in_standing_region(ThreadState& t);
// An optimizer stepped in this thread, or its step was skipped.
void step_ended(ThreadState& t);
// The number of training steps has changed, or may have.
void tell_training_steps(Recording& r);
// The process ends: tells of an optimizer's step that nothing has told of.
void last_step_ended(ThreadState& t);

}  // namespace castscope::agent
