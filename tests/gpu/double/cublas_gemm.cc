// cuBLAS's double: matrix products, in all the forms in which they can be called.
#include "cublas_handle.h"
#include "cublas_names.h"
#include "gemm.h"

using namespace nogpu;

namespace {

// Only the members that matter to a kernel that computes nothing.
struct Product {
  cudaDataType a, b, c;
  cublasComputeType_t compute;
  int64_t m, n, k, batches = 1;
};

cublasStatus_t multiply(cublasHandle_t handle, const Product& product) {
  // As in cuBLAS: an empty product needs no kernel.
  if (product.m == 0 || product.n == 0 || product.batches == 0) return CUBLAS_STATUS_SUCCESS;
  const bool tf32 = product.a == CUDA_R_32F && (handle_of(handle)->math_mode & 0xf) == CUBLAS_TF32_TENSOR_OP_MATH;
  launch_gemm({dtype_name(product.a), dtype_name(product.b), dtype_name(product.c), compute_name(product.compute, tf32),
               product.m, product.n, product.k, product.batches},
              handle_of(handle)->stream);
  return CUBLAS_STATUS_SUCCESS;
}

template <typename Value>
constexpr cudaDataType kTypeOf = CUDA_R_32F;
template <>
constexpr cudaDataType kTypeOf<double> = CUDA_R_64F;
template <>
constexpr cudaDataType kTypeOf<cuComplex> = CUDA_C_32F;
template <>
constexpr cudaDataType kTypeOf<cuDoubleComplex> = CUDA_C_64F;

// The forms whose names contain the dtype.
template <typename Value>
cublasStatus_t multiply_as(cublasHandle_t handle, int64_t m, int64_t n, int64_t k, int64_t batches = 1) {
  constexpr cudaDataType type = kTypeOf<Value>;
  const bool is_double = type == CUDA_R_64F || type == CUDA_C_64F;
  return multiply(handle, {type, type, type, is_double ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F, m, n, k, batches});
}

}  // namespace

// Each form exists with 32-bit and with 64-bit sizes.
#define NOGPU_GEMM(NAME, INT, VALUE)                                                                                  \
  cublasStatus_t NAME(cublasHandle_t handle, cublasOperation_t, cublasOperation_t, INT m, INT n, INT k, const VALUE*, \
                      const VALUE*, INT, const VALUE*, INT, const VALUE*, VALUE*, INT) {                              \
    return multiply_as<VALUE>(handle, m, n, k);                                                                       \
  }
#define NOGPU_STRIDED_GEMM(NAME, INT, VALUE)                                                                          \
  cublasStatus_t NAME(cublasHandle_t handle, cublasOperation_t, cublasOperation_t, INT m, INT n, INT k, const VALUE*, \
                      const VALUE*, INT, long long, const VALUE*, INT, long long, const VALUE*, VALUE*, INT,          \
                      long long, INT batches) {                                                                       \
    return multiply_as<VALUE>(handle, m, n, k, batches);                                                              \
  }
#define NOGPU_SGEMM_EX(NAME, INT)                                                                                     \
  cublasStatus_t NAME(cublasHandle_t handle, cublasOperation_t, cublasOperation_t, INT m, INT n, INT k, const float*, \
                      const void*, cudaDataType a, INT, const void*, cudaDataType b, INT, const float*, void*,        \
                      cudaDataType c, INT) {                                                                          \
    return multiply(handle, {a, b, c, CUBLAS_COMPUTE_32F, m, n, k});                                                  \
  }
#define NOGPU_GEMM_EX(NAME, INT)                                                                                     \
  cublasStatus_t NAME(cublasHandle_t handle, cublasOperation_t, cublasOperation_t, INT m, INT n, INT k, const void*, \
                      const void*, cudaDataType a, INT, const void*, cudaDataType b, INT, const void*, void*,        \
                      cudaDataType c, INT, cublasComputeType_t compute, cublasGemmAlgo_t) {                          \
    return multiply(handle, {a, b, c, compute, m, n, k});                                                            \
  }
#define NOGPU_STRIDED_GEMM_EX(NAME, INT)                                                                             \
  cublasStatus_t NAME(cublasHandle_t handle, cublasOperation_t, cublasOperation_t, INT m, INT n, INT k, const void*, \
                      const void*, cudaDataType a, INT, long long, const void*, cudaDataType b, INT, long long,      \
                      const void*, void*, cudaDataType c, INT, long long, INT batches, cublasComputeType_t compute,  \
                      cublasGemmAlgo_t) {                                                                            \
    return multiply(handle, {a, b, c, compute, m, n, k, batches});                                                   \
  }
#define NOGPU_BATCHED_GEMM_EX(NAME, INT)                                                                               \
  cublasStatus_t NAME(cublasHandle_t handle, cublasOperation_t, cublasOperation_t, INT m, INT n, INT k, const void*,   \
                      const void* const[], cudaDataType a, INT, const void* const[], cudaDataType b, INT, const void*, \
                      void* const[], cudaDataType c, INT, INT batches, cublasComputeType_t compute,                    \
                      cublasGemmAlgo_t) {                                                                              \
    return multiply(handle, {a, b, c, compute, m, n, k, batches});                                                     \
  }

NOGPU_GEMM(cublasSgemm_v2, int, float)
NOGPU_GEMM(cublasSgemm_v2_64, int64_t, float)
NOGPU_GEMM(cublasDgemm_v2, int, double)
NOGPU_GEMM(cublasDgemm_v2_64, int64_t, double)
NOGPU_GEMM(cublasCgemm_v2, int, cuComplex)
NOGPU_GEMM(cublasCgemm_v2_64, int64_t, cuComplex)
NOGPU_GEMM(cublasZgemm_v2, int, cuDoubleComplex)
NOGPU_GEMM(cublasZgemm_v2_64, int64_t, cuDoubleComplex)
NOGPU_STRIDED_GEMM(cublasSgemmStridedBatched, int, float)
NOGPU_STRIDED_GEMM(cublasSgemmStridedBatched_64, int64_t, float)
NOGPU_STRIDED_GEMM(cublasDgemmStridedBatched, int, double)
NOGPU_STRIDED_GEMM(cublasDgemmStridedBatched_64, int64_t, double)
NOGPU_STRIDED_GEMM(cublasCgemmStridedBatched, int, cuComplex)
NOGPU_STRIDED_GEMM(cublasZgemmStridedBatched, int, cuDoubleComplex)
NOGPU_SGEMM_EX(cublasSgemmEx, int)
NOGPU_SGEMM_EX(cublasSgemmEx_64, int64_t)
NOGPU_GEMM_EX(cublasGemmEx, int)
NOGPU_GEMM_EX(cublasGemmEx_64, int64_t)
NOGPU_STRIDED_GEMM_EX(cublasGemmStridedBatchedEx, int)
NOGPU_STRIDED_GEMM_EX(cublasGemmStridedBatchedEx_64, int64_t)
NOGPU_BATCHED_GEMM_EX(cublasGemmBatchedEx, int)
NOGPU_BATCHED_GEMM_EX(cublasGemmBatchedEx_64, int64_t)
