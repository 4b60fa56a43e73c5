// Whether an optimizer steps in the calling thread.
#pragma once

namespace castscope::agent {

// Whether the thread is in an optimizer's step: a closure may enter regions there.
bool in_optimizer_step();
// One optimizer may call another's step: the outermost counts.
void optimizer_step_begins();
void optimizer_step_ended();

}  // namespace castscope::agent
