// Functions that stand before cuBLAS's. Each calls the original with its arguments as they are and returns its result.
// While matmuls are wanted it also tells what was computed (matmul_call.h).
#pragma once

#include <atomic>
#include <span>

#include "agent/imports/imports.h"

namespace castscope::matmuls {

inline std::atomic<bool> g_matmuls_wanted{false};

// For imports::Imports, together with others or alone.
std::span<imports::Import> cublas_imports();
// Call it when some of the imports were taken: finds, in the libraries that have the originals, the functions that read
// math modes and descriptors. Until then, and where there are no such functions, those facts are unknown.
void find_cublas_getters() noexcept;

}  // namespace castscope::matmuls
