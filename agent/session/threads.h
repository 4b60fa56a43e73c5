// Threads of the job get a state at their first event, and give their lane back when they end.
#pragma once

namespace castscope::agent {

// Call once, when the agent starts. Returns false when no thread-specific key is left.
bool watch_thread_ends();
// Called in a forked child: the thread that forked goes on in it.
void threads_child_begins();

}  // namespace castscope::agent
