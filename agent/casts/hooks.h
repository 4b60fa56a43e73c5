// The functions that stand in place of PyTorch's where it casts. Each forwards to the original and looks at what
// passes; none changes an argument, a result or an exception.
#pragma once

#include "agent/interposed/interface.h"

namespace castscope::agent {

// The function to put into a slot; nullptr to leave the slot alone. The Python version picks the stack walk.
void* cached_cast_hook(int python_minor);
void* to_copy_hook(castscope_hook hook, int python_minor);  // TO_COPY, TO_COPY_KERNEL
void* conversion_hook(castscope_hook hook);                 // TO_DTYPE, …, TO_OTHER
void* foreach_copy_hook(castscope_hook hook);               // FOREACH_COPY
void* cache_hook(castscope_hook hook);                      // CLEAR_CACHE

}  // namespace castscope::agent
