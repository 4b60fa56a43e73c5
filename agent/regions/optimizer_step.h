// Whether an optimizer steps in the calling thread.
#pragma once

namespace castscope::observe {

// In an optimizer's step: in its closure, where regions are entered.
bool in_optimizer_step();
// One may call another's: the outermost counts.
void optimizer_step_begins();
void optimizer_step_ended();

}  // namespace castscope::observe
