// What stands in the place of TorchScript's functions.
#pragma once

#include "agent/interposed/interface.h"

namespace castscope::script {

// Of CASTSCOPE_HOOK_JIT_… and FOLD_CONSTANT; nullptr for any other.
void* hook(castscope_hook);

}  // namespace castscope::script
