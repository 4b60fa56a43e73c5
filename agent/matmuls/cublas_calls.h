// Functions that stand before cuBLAS's: each calls the original with its arguments as they are and gives back what that
// returns. While matmuls are wanted it also tells what was computed (matmul_call.h).
#pragma once

#include <atomic>
#include <span>

#include "agent/imports/imports.h"

namespace castscope::matmuls {

inline std::atomic<bool> g_matmuls_wanted{false};

// For imports::Imports; with others or alone.
std::span<imports::Import> cublas_imports();
// To be called when some of the imports were taken: finds, in the libraries that have the originals, the functions by
// which math modes and descriptors are read. Until then, and where there are none, what they would tell is unknown.
void find_cublas_getters() noexcept;

}  // namespace castscope::matmuls
