// Makes the recording of this process, in a segment of its own, at the process's first event.
#pragma once

#include "agent/session/process.h"

namespace castscope::agent {

// Called when the agent starts: takes a file for the segment with the present rights and descriptors.
void prepare_recording();
// Called when the process ends: removes a file that was not needed.
void remove_prepared_recording();
// Returns nullptr when castscope has stepped aside, and said why.
Recording* make_recording();

// Called around a fork: a child begins a recording of its own. The begin is called in the thread that forks.
void recording_fork_begins();
void recording_child_begins();

}  // namespace castscope::agent
