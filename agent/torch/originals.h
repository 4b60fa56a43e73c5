// PyTorch's own functions, for the functions that stand in their place.
#pragma once

#include <string>  // defines _GLIBCXX_USE_CXX11_ABI

#include "agent/interposed/interface.h"

namespace castscope::agent {

// The hooks of functions with a std::string, of whichever kind this PyTorch was built with.
#if _GLIBCXX_USE_CXX11_ABI
inline constexpr castscope_hook kPrivateUse1Backend = CASTSCOPE_HOOK_PRIVATEUSE1_BACKEND,
                                kErrorComplete = CASTSCOPE_HOOK_ERROR_COMPLETE, kErrorBase = CASTSCOPE_HOOK_ERROR_BASE;
#else
inline constexpr castscope_hook kPrivateUse1Backend = CASTSCOPE_HOOK_PRIVATEUSE1_BACKEND_OLD_STRING,
                                kErrorComplete = CASTSCOPE_HOOK_ERROR_COMPLETE_OLD_STRING,
                                kErrorBase = CASTSCOPE_HOOK_ERROR_BASE_OLD_STRING;
#endif

// Indexed by castscope_hook; nullptr where this PyTorch has none.
extern void* const* g_originals;

template <typename F>
F original(castscope_hook hook) {
  return reinterpret_cast<F>(g_originals[hook]);
}

}  // namespace castscope::agent
