// The recording of this process is made at its first event, in a segment of its own.
#pragma once

#include "agent/session/process.h"

namespace castscope::observe {

// When the agent starts: takes a file for the segment with the rights and the descriptors that there are now.
void prepare_recording();
// The process ends: a file that was not needed is removed.
void remove_prepared_recording();
// nullptr: castscope has stepped aside, and said why.
Recording* make_recording();

// Around a fork: a child begins a recording of its own. The begin in the thread that forks.
void recording_fork_begins();
void recording_child_begins();

}  // namespace castscope::observe
