// PyTorch's own functions, for the functions that stand in their place.
#pragma once

#include "agent/interposed/interface.h"

namespace castscope::agent {

// Indexed by castscope_hook; nullptr where this PyTorch has none.
extern void* const* g_originals;

template <typename F>
F original(castscope_hook hook) {
  return reinterpret_cast<F>(g_originals[hook]);
}

}  // namespace castscope::agent
