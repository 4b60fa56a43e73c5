// Checks our own declarations of cuBLAS's interface (agent/matmuls/cublas_abi.h) against NVIDIA's headers, those of
// CUDA 13. It is compiled, never run: scripts/check-gpu-abi.

// Only the names from the halves' own headers are needed; the headers would need the C++ library CCCL as well.
#define __CUDA_FP16_H__
#define __CUDA_BF16_H__
struct __half;
struct __nv_bfloat16;

#include <cublasLt.h>
#include <cublas_api.h>
#include <cuda_runtime_api.h>

#include <type_traits>

#include "agent/gpu/cudart_abi.h"
#include "agent/matmuls/cublas_abi.h"

namespace castscope::gpu {
namespace {

namespace cublas = matmuls::cublas;

template <typename Ours, typename Theirs>
constexpr bool passed_alike();

// Memory that we pass on unread is void in our declarations; everything else has to be the same.
template <typename Ours, typename Theirs>
constexpr bool points_alike() {
  if constexpr (std::is_const_v<Ours> != std::is_const_v<Theirs>)
    return false;
  else if constexpr (std::is_void_v<Ours> || std::is_class_v<Ours>)
    return !std::is_pointer_v<Theirs>;
  else
    return passed_alike<std::remove_const_t<Ours>, std::remove_const_t<Theirs>>();
}

// Compares enums as the integers that they are, addresses as addresses, and structs by their size.
template <typename Ours, typename Theirs>
constexpr bool passed_alike() {
  if constexpr (std::is_pointer_v<Ours> && std::is_pointer_v<Theirs>)
    return points_alike<std::remove_pointer_t<Ours>, std::remove_pointer_t<Theirs>>();
  else if constexpr (std::is_integral_v<Ours> && std::is_integral_v<Theirs>)
    return sizeof(Ours) == sizeof(Theirs) && std::is_signed_v<Ours> == std::is_signed_v<Theirs>;
  else if constexpr (std::is_floating_point_v<Ours>)
    return std::is_same_v<Ours, Theirs>;
  else if constexpr (std::is_class_v<Ours> && std::is_class_v<Theirs>)
    return sizeof(Ours) == sizeof(Theirs) && std::is_trivially_copyable_v<Theirs>;
  else
    return std::is_enum_v<Ours> && std::is_enum_v<Theirs> && sizeof(Ours) == sizeof(Theirs);
}

template <typename Ours, typename Theirs>
constexpr bool called_alike = false;
template <typename R, typename... Args, typename TheirR, typename... TheirArgs>
requires(sizeof...(Args) == sizeof...(TheirArgs)) constexpr bool called_alike<R(Args...), TheirR(TheirArgs...)> =
    passed_alike<R, TheirR>() && (passed_alike<Args, TheirArgs>() && ...);

static_assert(called_alike<int(const int*, void*), int(const int*, float*)>);
static_assert(!called_alike<int(const int*), int(const long*)>);
static_assert(!called_alike<int(const void*), int(void*)>);
static_assert(!called_alike<int(const void*), int(const void* const*)>);
static_assert(!called_alike<int(int), int(long)> && !called_alike<int(int), int(int, int)>);
static_assert(!called_alike<int(int), int(unsigned)> && !called_alike<int(int), int(cudaDataType)>);

// Some names have a second C++ function beside the exported one: the type of our declaration says which is meant.
template <typename T>
struct Theirs {
  using Type = T;
};
#define CASTSCOPE_THEIRS(ours, theirs) \
  template <>                          \
  struct Theirs<cublas::ours> {        \
    using Type = theirs;               \
  }
CASTSCOPE_THEIRS(Status, cublasStatus_t);
CASTSCOPE_THEIRS(Handle, cublasHandle_t);
CASTSCOPE_THEIRS(Operation, cublasOperation_t);
CASTSCOPE_THEIRS(DataType, cudaDataType);
CASTSCOPE_THEIRS(ComputeType, cublasComputeType_t);
CASTSCOPE_THEIRS(GemmAlgo, cublasGemmAlgo_t);
template <typename R, typename... Args>
struct Theirs<R(Args...)> {
  using Type = typename Theirs<R>::Type(typename Theirs<Args>::Type...);
};
template <typename Ours, typename F>
constexpr bool is_alike(F*) {
  return called_alike<Ours, F>;
}
template <typename Ours>
constexpr bool is_alike(typename Theirs<Ours>::Type* function) {
  return function != nullptr;
}

#define CASTSCOPE_SAME_FUNCTION(name, signature, type) static_assert(is_alike<cublas::signature>(&::name), #name);
namespace functions {
using namespace cublas;
CASTSCOPE_CUBLAS_FUNCTIONS(CASTSCOPE_SAME_FUNCTION)
CASTSCOPE_SAME_FUNCTION(cublasGetMathMode, GetMathMode, )
CASTSCOPE_SAME_FUNCTION(cublasLtMatmulDescGetAttribute, LtDescGetAttribute, )
CASTSCOPE_SAME_FUNCTION(cublasLtMatrixLayoutGetAttribute, LtLayoutGetAttribute, )
CASTSCOPE_SAME_FUNCTION(cublasLtMatmulAlgoConfigGetAttribute, LtAlgoGetAttribute, )
}  // namespace functions

#define CASTSCOPE_SAME_VALUE(ours, theirs) \
  static_assert(static_cast<long long>(cublas::ours) == static_cast<long long>(theirs), #theirs)
CASTSCOPE_SAME_VALUE(kSuccess, CUBLAS_STATUS_SUCCESS);
CASTSCOPE_SAME_VALUE(kNoTranspose, CUBLAS_OP_N);
CASTSCOPE_SAME_VALUE(kTranspose, CUBLAS_OP_T);
CASTSCOPE_SAME_VALUE(kConjugateTranspose, CUBLAS_OP_C);

CASTSCOPE_SAME_VALUE(kDefaultMath, CUBLAS_DEFAULT_MATH);
CASTSCOPE_SAME_VALUE(kTensorOpMath, CUBLAS_TENSOR_OP_MATH);
CASTSCOPE_SAME_VALUE(kPedanticMath, CUBLAS_PEDANTIC_MATH);
CASTSCOPE_SAME_VALUE(kTf32TensorOpMath, CUBLAS_TF32_TENSOR_OP_MATH);
CASTSCOPE_SAME_VALUE(kFp32EmulatedBf16x9Math, CUBLAS_FP32_EMULATED_BF16X9_MATH);
CASTSCOPE_SAME_VALUE(kFp64EmulatedFixedPointMath, CUBLAS_FP64_EMULATED_FIXEDPOINT_MATH);
CASTSCOPE_SAME_VALUE(kDisallowReducedPrecisionReduction, CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION);

CASTSCOPE_SAME_VALUE(kCompute16F, CUBLAS_COMPUTE_16F);
CASTSCOPE_SAME_VALUE(kCompute16FPedantic, CUBLAS_COMPUTE_16F_PEDANTIC);
CASTSCOPE_SAME_VALUE(kCompute32F, CUBLAS_COMPUTE_32F);
CASTSCOPE_SAME_VALUE(kCompute32FPedantic, CUBLAS_COMPUTE_32F_PEDANTIC);
CASTSCOPE_SAME_VALUE(kCompute64F, CUBLAS_COMPUTE_64F);
CASTSCOPE_SAME_VALUE(kCompute64FPedantic, CUBLAS_COMPUTE_64F_PEDANTIC);
CASTSCOPE_SAME_VALUE(kCompute32I, CUBLAS_COMPUTE_32I);
CASTSCOPE_SAME_VALUE(kCompute32IPedantic, CUBLAS_COMPUTE_32I_PEDANTIC);
CASTSCOPE_SAME_VALUE(kCompute32FFast16F, CUBLAS_COMPUTE_32F_FAST_16F);
CASTSCOPE_SAME_VALUE(kCompute32FFast16BF, CUBLAS_COMPUTE_32F_FAST_16BF);
CASTSCOPE_SAME_VALUE(kCompute32FFastTf32, CUBLAS_COMPUTE_32F_FAST_TF32);
CASTSCOPE_SAME_VALUE(kCompute32FEmulated16BFx9, CUBLAS_COMPUTE_32F_EMULATED_16BFX9);
CASTSCOPE_SAME_VALUE(kCompute64FEmulatedFixedPoint, CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT);

CASTSCOPE_SAME_VALUE(kR32F, CUDA_R_32F);
CASTSCOPE_SAME_VALUE(kR64F, CUDA_R_64F);
CASTSCOPE_SAME_VALUE(kR16F, CUDA_R_16F);
CASTSCOPE_SAME_VALUE(kR8I, CUDA_R_8I);
CASTSCOPE_SAME_VALUE(kC32F, CUDA_C_32F);
CASTSCOPE_SAME_VALUE(kC64F, CUDA_C_64F);
CASTSCOPE_SAME_VALUE(kC16F, CUDA_C_16F);
CASTSCOPE_SAME_VALUE(kR8U, CUDA_R_8U);
CASTSCOPE_SAME_VALUE(kR32I, CUDA_R_32I);
CASTSCOPE_SAME_VALUE(kR16BF, CUDA_R_16BF);
CASTSCOPE_SAME_VALUE(kC16BF, CUDA_C_16BF);
CASTSCOPE_SAME_VALUE(kR8FE4M3, CUDA_R_8F_E4M3);
CASTSCOPE_SAME_VALUE(kR8FE5M2, CUDA_R_8F_E5M2);
CASTSCOPE_SAME_VALUE(kR4FE2M1, CUDA_R_4F_E2M1);

CASTSCOPE_SAME_VALUE(kLtComputeType, CUBLASLT_MATMUL_DESC_COMPUTE_TYPE);
CASTSCOPE_SAME_VALUE(kLtTransposeA, CUBLASLT_MATMUL_DESC_TRANSA);
CASTSCOPE_SAME_VALUE(kLtTransposeB, CUBLASLT_MATMUL_DESC_TRANSB);
CASTSCOPE_SAME_VALUE(kLtEpilogue, CUBLASLT_MATMUL_DESC_EPILOGUE);
CASTSCOPE_SAME_VALUE(kLtDefaultEpilogue, CUBLASLT_EPILOGUE_DEFAULT);
CASTSCOPE_SAME_VALUE(kLtType, CUBLASLT_MATRIX_LAYOUT_TYPE);
CASTSCOPE_SAME_VALUE(kLtRows, CUBLASLT_MATRIX_LAYOUT_ROWS);
CASTSCOPE_SAME_VALUE(kLtColumns, CUBLASLT_MATRIX_LAYOUT_COLS);
CASTSCOPE_SAME_VALUE(kLtLeading, CUBLASLT_MATRIX_LAYOUT_LD);
CASTSCOPE_SAME_VALUE(kLtBatch, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
CASTSCOPE_SAME_VALUE(kLtBatchStride, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
CASTSCOPE_SAME_VALUE(kLtBatchMode, CUBLASLT_MATRIX_LAYOUT_BATCH_MODE);
CASTSCOPE_SAME_VALUE(kLtPointerArray, CUBLASLT_BATCH_MODE_POINTER_ARRAY);
CASTSCOPE_SAME_VALUE(kLtReductionScheme, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME);
CASTSCOPE_SAME_VALUE(kLtReductionInPlace, CUBLASLT_REDUCTION_SCHEME_INPLACE);
CASTSCOPE_SAME_VALUE(kLtReductionInOutputType, CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE);

// No public header declares __cudaLaunchKernel; the compiler's own headers do.
#define CASTSCOPE_ALIKE(name, signature, member) static_assert(called_alike<cudart::signature, decltype(name)>, #name);
CASTSCOPE_CUDART_FUNCTIONS(CASTSCOPE_ALIKE)
static_assert(called_alike<cudart::LaunchKernel, decltype(cudaLaunchKernel)>);
static_assert(called_alike<cudart::LaunchKernelEx, decltype(cudaLaunchKernelExC)>);
static_assert(cudart::kSuccess == static_cast<int>(cudaSuccess) &&
              cudart::kNotReady == static_cast<int>(cudaErrorNotReady));
static_assert(cudart::kNotCapturing == static_cast<int>(cudaStreamCaptureStatusNone));
static_assert(cudart::kRelaxed == static_cast<int>(cudaStreamCaptureModeRelaxed));
static_assert(cudart::kDefaultEvent == cudaEventDefault);
static_assert(offsetof(cudart::LaunchConfig, stream) == offsetof(cudaLaunchConfig_t, stream));
static_assert(offsetof(cudart::LaunchConfig, shared_bytes) == offsetof(cudaLaunchConfig_t, dynamicSmemBytes));

}  // namespace
}  // namespace castscope::gpu
