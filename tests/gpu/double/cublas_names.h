// The names of cuBLAS's dtypes and compute types within the kernels' names.
#pragma once

#include "cublas_headers.h"

namespace nogpu {

inline const char* dtype_name(cudaDataType type) {
  switch (type) {
    case CUDA_R_16F:
      return "f16";
    case CUDA_R_16BF:
      return "bf16";
    case CUDA_R_32F:
      return "f32";
    case CUDA_R_64F:
      return "f64";
    case CUDA_C_32F:
      return "c32";
    case CUDA_C_64F:
      return "c64";
    case CUDA_R_8I:
      return "i8";
    case CUDA_R_32I:
      return "i32";
    case CUDA_R_8F_E4M3:
      return "f8e4m3";
    case CUDA_R_8F_E5M2:
      return "f8e5m2";
    case CUDA_R_4F_E2M1:
      return "f4e2m1";
    default:
      return "other";
  }
}

// A product of float32 values in float32 becomes one in TF32 where the handle's math mode allows it.
inline const char* compute_name(cublasComputeType_t type, bool tf32) {
  switch (type) {
    case CUBLAS_COMPUTE_16F:
    case CUBLAS_COMPUTE_16F_PEDANTIC:
      return "f16";
    case CUBLAS_COMPUTE_32F:
      return tf32 ? "tf32" : "f32";
    case CUBLAS_COMPUTE_32F_PEDANTIC:
      return "f32";
    case CUBLAS_COMPUTE_32F_FAST_16F:
      return "f16fast";
    case CUBLAS_COMPUTE_32F_FAST_16BF:
      return "bf16fast";
    case CUBLAS_COMPUTE_32F_FAST_TF32:
      return "tf32";
    case CUBLAS_COMPUTE_64F:
    case CUBLAS_COMPUTE_64F_PEDANTIC:
      return "f64";
    case CUBLAS_COMPUTE_32I:
    case CUBLAS_COMPUTE_32I_PEDANTIC:
      return "i32";
    default:
      return "other";
  }
}

}  // namespace nogpu
