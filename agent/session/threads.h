// Threads of the job get a state at their first event, and give their lane back when they end.
#pragma once

namespace castscope::observe {

// Once, when the agent starts. False: no thread-specific key is left.
bool watch_thread_ends();
// In a forked child: the thread that forked goes on in it.
void threads_child_begins();

}  // namespace castscope::observe
