// The functions that stand in place of TorchScript's.
#pragma once

#include "agent/interposed/interface.h"

namespace castscope::script {

// The function for CASTSCOPE_HOOK_JIT_… and FOLD_CONSTANT; nullptr for any other hook.
void* hook(castscope_hook);

}  // namespace castscope::script
