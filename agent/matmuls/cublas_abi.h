// The part of cuBLAS's and cuBLASLt's binary interface that the agent relies on, declared by ourselves: the agent is
// compiled on machines that may have no headers of CUDA. It is stable since CUDA 11. tests/gpu/check_cublas_abi.cc
// holds it against the headers (scripts/check-gpu-abi).
//
// Enums are those of C, as wide as int; every pointer to numbers is declared as a pointer to void.
#pragma once

#include <cstddef>
#include <cstdint>

namespace castscope::matmuls::cublas {

enum Status : int { kSuccess = 0 };
enum Operation : int { kNoTranspose = 0, kTranspose = 1, kConjugateTranspose = 2 };

enum MathMode : unsigned {  // one of the first, and the flag
  kDefaultMath = 0,
  kTensorOpMath = 1,  // deprecated: fp32 inputs may be rounded to fp16
  kPedanticMath = 2,
  kTf32TensorOpMath = 3,
  kFp32EmulatedBf16x9Math = 4,
  kFp64EmulatedFixedPointMath = 8,
  kDisallowReducedPrecisionReduction = 16,
};
inline constexpr unsigned kModeBits = 0xf;

enum ComputeType : int {
  kCompute16F = 64,
  kCompute16FPedantic = 65,
  kCompute32F = 68,
  kCompute32FPedantic = 69,
  kCompute64F = 70,
  kCompute64FPedantic = 71,
  kCompute32I = 72,
  kCompute32IPedantic = 73,
  kCompute32FFast16F = 74,
  kCompute32FFast16BF = 75,
  kCompute32FFastTf32 = 77,
  kCompute32FEmulated16BFx9 = 78,
  kCompute64FEmulatedFixedPoint = 79,
};

enum DataType : int {  // cudaDataType
  kR32F = 0,
  kR64F = 1,
  kR16F = 2,
  kR8I = 3,
  kC32F = 4,
  kC64F = 5,
  kC16F = 6,
  kR8U = 8,
  kR32I = 10,
  kR16BF = 14,
  kC16BF = 15,
  kR8FE4M3 = 28,
  kR8FE5M2 = 29,
  kR4FE2M1 = 33,
};

enum GemmAlgo : int {};

struct HandleStruct;
using Handle = HandleStruct*;

template <typename Int>
using GemmEx = Status(Handle, Operation, Operation, Int m, Int n, Int k, const void* alpha, const void* a, DataType,
                      Int lda, const void* b, DataType, Int ldb, const void* beta, void* c, DataType, Int ldc,
                      ComputeType, GemmAlgo);
template <typename Int>
using GemmStridedBatchedEx = Status(Handle, Operation, Operation, Int m, Int n, Int k, const void* alpha, const void* a,
                                    DataType, Int lda, long long stride_a, const void* b, DataType, Int ldb,
                                    long long stride_b, const void* beta, void* c, DataType, Int ldc,
                                    long long stride_c, Int batch, ComputeType, GemmAlgo);
template <typename Int>
using GemmBatchedEx = Status(Handle, Operation, Operation, Int m, Int n, Int k, const void* alpha,
                             const void* const a[], DataType, Int lda, const void* const b[], DataType, Int ldb,
                             const void* beta, void* const c[], DataType, Int ldc, Int batch, ComputeType, GemmAlgo);
// The arrays of sizes are in the host's memory, those of matrices in the device's.
template <typename Int>
using GemmGroupedBatchedEx = Status(Handle, const Operation[], const Operation[], const Int m[], const Int n[],
                                    const Int k[], const void* alpha, const void* const a[], DataType, const Int lda[],
                                    const void* const b[], DataType, const Int ldb[], const void* beta, void* const c[],
                                    DataType, const Int ldc[], Int groups, const Int group_sizes[], ComputeType);
// cublasSgemm and its like
template <typename Int>
using Gemm = Status(Handle, Operation, Operation, Int m, Int n, Int k, const void* alpha, const void* a, Int lda,
                    const void* b, Int ldb, const void* beta, void* c, Int ldc);
template <typename Int>
using GemmStridedBatched = Status(Handle, Operation, Operation, Int m, Int n, Int k, const void* alpha, const void* a,
                                  Int lda, long long stride_a, const void* b, Int ldb, long long stride_b,
                                  const void* beta, void* c, Int ldc, long long stride_c, Int batch);
template <typename Int>
using GemmBatched = Status(Handle, Operation, Operation, Int m, Int n, Int k, const void* alpha, const void* const a[],
                           Int lda, const void* const b[], Int ldb, const void* beta, void* const c[], Int ldc,
                           Int batch);
// cublasSgemmEx, cublasCgemmEx: they compute in fp32, whatever the inputs
template <typename Int>
using TypedGemmEx = Status(Handle, Operation, Operation, Int m, Int n, Int k, const void* alpha, const void* a,
                           DataType, Int lda, const void* b, DataType, Int ldb, const void* beta, void* c, DataType,
                           Int ldc);
// cublasSgemv and its like: y (m) = A (m × n) · x, or its transpose
template <typename Int>
using Gemv = Status(Handle, Operation, Int m, Int n, const void* alpha, const void* a, Int lda, const void* x, Int incx,
                    const void* beta, void* y, Int incy);

using GetMathMode = Status(Handle, MathMode*);

struct LtHandleStruct;
using LtHandle = LtHandleStruct*;
struct LtMatmulDescStruct;
using LtMatmulDesc = LtMatmulDescStruct*;
struct LtLayoutStruct;
using LtLayout = LtLayoutStruct*;
struct LtAlgoStruct;
struct StreamStruct;

using LtMatmul = Status(LtHandle, LtMatmulDesc, const void* alpha, const void* a, LtLayout, const void* b, LtLayout,
                        const void* beta, const void* c, LtLayout, void* d, LtLayout, const LtAlgoStruct* algo,
                        void* workspace, std::size_t workspace_bytes, StreamStruct* stream);

enum LtDescAttribute : int { kLtComputeType = 0, kLtTransposeA = 3, kLtTransposeB = 4, kLtEpilogue = 7 };
enum LtLayoutAttribute : int {
  kLtType = 0,         // u32: DataType
  kLtRows = 2,         // u64
  kLtColumns = 3,      // u64
  kLtLeading = 4,      // i64
  kLtBatch = 5,        // i32
  kLtBatchStride = 6,  // i64
  kLtBatchMode = 8,    // u32, not in older versions
};
inline constexpr std::uint32_t kLtPointerArray = 1;     // a batch mode: the matrix is an array of addresses
inline constexpr std::uint32_t kLtDefaultEpilogue = 1;  // none
enum LtAlgoAttribute : int { kLtReductionScheme = 3 };
// Bits of a reduction scheme that add up in the result's dtype.
inline constexpr std::uint32_t kLtReductionInPlace = 1, kLtReductionInOutputType = 4;

using LtDescGetAttribute = Status(LtMatmulDesc, LtDescAttribute, void* value, std::size_t bytes, std::size_t* written);
using LtLayoutGetAttribute = Status(LtLayout, LtLayoutAttribute, void* value, std::size_t bytes, std::size_t* written);
using LtAlgoGetAttribute = Status(const LtAlgoStruct*, LtAlgoAttribute, void* value, std::size_t bytes,
                                  std::size_t* written);

}  // namespace castscope::matmuls::cublas

// All functions that are replaced: X(name, signature, dtype of the matrices where no argument tells it).
// cublas{S,D,C,Z}gemv are products too (n = 1), though Tensor Cores never compute them. Not in the list: the *3m forms,
// cublas{S,D}gemmGroupedBatched and cublasGemvBatched…, which neither PyTorch nor the libraries that come with it call.
#define CASTSCOPE_CUBLAS_BY_TYPE(X, letter, type)                                  \
  X(cublas##letter##gemmStridedBatched, GemmStridedBatched<int>, type)             \
  X(cublas##letter##gemmStridedBatched_64, GemmStridedBatched<std::int64_t>, type) \
  X(cublas##letter##gemmBatched, GemmBatched<int>, type)                           \
  X(cublas##letter##gemmBatched_64, GemmBatched<std::int64_t>, type)
#define CASTSCOPE_CUBLAS_BY_FULL_TYPE(X, letter, type)    \
  X(cublas##letter##gemm_v2, Gemm<int>, type)             \
  X(cublas##letter##gemm_v2_64, Gemm<std::int64_t>, type) \
  X(cublas##letter##gemv_v2, Gemv<int>, type)             \
  X(cublas##letter##gemv_v2_64, Gemv<std::int64_t>, type) \
  CASTSCOPE_CUBLAS_BY_TYPE(X, letter, type)
#define CASTSCOPE_CUBLAS_FUNCTIONS(X)                                         \
  X(cublasGemmEx, GemmEx<int>, kR32F)                                         \
  X(cublasGemmEx_64, GemmEx<std::int64_t>, kR32F)                             \
  X(cublasGemmStridedBatchedEx, GemmStridedBatchedEx<int>, kR32F)             \
  X(cublasGemmStridedBatchedEx_64, GemmStridedBatchedEx<std::int64_t>, kR32F) \
  X(cublasGemmBatchedEx, GemmBatchedEx<int>, kR32F)                           \
  X(cublasGemmBatchedEx_64, GemmBatchedEx<std::int64_t>, kR32F)               \
  X(cublasGemmGroupedBatchedEx, GemmGroupedBatchedEx<int>, kR32F)             \
  X(cublasGemmGroupedBatchedEx_64, GemmGroupedBatchedEx<std::int64_t>, kR32F) \
  X(cublasSgemmEx, TypedGemmEx<int>, kR32F)                                   \
  X(cublasSgemmEx_64, TypedGemmEx<std::int64_t>, kR32F)                       \
  X(cublasCgemmEx, TypedGemmEx<int>, kC32F)                                   \
  X(cublasCgemmEx_64, TypedGemmEx<std::int64_t>, kC32F)                       \
  X(cublasHgemm, Gemm<int>, kR16F)                                            \
  X(cublasHgemm_64, Gemm<std::int64_t>, kR16F)                                \
  CASTSCOPE_CUBLAS_BY_TYPE(X, H, kR16F)                                       \
  CASTSCOPE_CUBLAS_BY_FULL_TYPE(X, S, kR32F)                                  \
  CASTSCOPE_CUBLAS_BY_FULL_TYPE(X, D, kR64F)                                  \
  CASTSCOPE_CUBLAS_BY_FULL_TYPE(X, C, kC32F)                                  \
  CASTSCOPE_CUBLAS_BY_FULL_TYPE(X, Z, kC64F)                                  \
  X(cublasLtMatmul, LtMatmul, kR32F)
