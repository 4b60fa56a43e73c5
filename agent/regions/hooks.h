// The functions that stand in place of PyTorch's where regions and steps begin and end.
#pragma once

#include "agent/interposed/interface.h"

namespace castscope::agent {

// The function to put into a slot; nullptr to leave the slot alone.
void* state_hook(castscope_hook hook);  // autocast's setters, nesting
void* engine_hook();                    // ENGINE_EXECUTE
void* privateuse1_hook();               // PRIVATEUSE1_BACKEND

// castscope.step()
void explicit_step();

}  // namespace castscope::agent
