// A handle of cuBLAS's double, with everything that was set on it.
#pragma once

#include "cublas_headers.h"

namespace nogpu {

struct BlasHandle {
  cudaStream_t stream = nullptr;
  cublasMath_t math_mode = CUBLAS_DEFAULT_MATH;
  cublasPointerMode_t pointer_mode = CUBLAS_POINTER_MODE_HOST;
  cublasAtomicsMode_t atomics_mode = CUBLAS_ATOMICS_ALLOWED;
  int multiprocessors = 0;
  void* workspace = nullptr;
  size_t workspace_size = 0;
};

inline BlasHandle* handle_of(cublasHandle_t handle) { return reinterpret_cast<BlasHandle*>(handle); }

}  // namespace nogpu
