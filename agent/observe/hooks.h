// The functions that stand in PyTorch's place. Each forwards to the original and looks at what went by; none changes
// an argument, a result or an exception. More of them: errors.h, scaling.h.
#pragma once

#include "agent/preload/interface.h"

namespace castscope::observe {

// PyTorch's own functions, indexed by castscope_hook; nullptr where this PyTorch has none.
extern void* const* g_originals;

template <typename F>
F original(castscope_hook hook) {
  return reinterpret_cast<F>(g_originals[hook]);
}

// The function to put into a slot; nullptr to leave the slot alone. The Python version picks the stack walk.
void* cached_cast_hook(int python_minor);
void* to_copy_hook(castscope_hook hook, int python_minor);  // TO_COPY, TO_COPY_KERNEL
void* conversion_hook(castscope_hook hook);                 // TO_DTYPE, …, TO_OTHER
void* state_hook(castscope_hook hook);                      // autocast's setters, nesting, clear_cache
void* engine_hook();                                        // ENGINE_EXECUTE
void* privateuse1_hook();                                   // PRIVATEUSE1_BACKEND

// castscope.step()
void explicit_step();

}  // namespace castscope::observe
