// cuBLASLt's double: descriptors that can be read back, one heuristic for everything, and the product.
#include <algorithm>
#include <cstring>

#include <cuda.h>

#include "cublas_names.h"
#include "cublaslt_descriptors.h"
#include "device.h"
#include "gemm.h"

using namespace nogpu;

namespace {

template <typename Handle>
Attributes* attributes_of(Handle handle) {
  return reinterpret_cast<Attributes*>(handle);
}

template <typename Handle>
cublasStatus_t destroy(Handle handle) {
  delete attributes_of(handle);
  return CUBLAS_STATUS_SUCCESS;
}

template <typename Handle>
cublasStatus_t set(Handle handle, int attribute, const void* value, size_t size) {
  if (value == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  attributes_of(handle)->set(attribute, value, size);
  return CUBLAS_STATUS_SUCCESS;
}

cudaDataType type_of(cublasLtMatrixLayout_t layout) {
  return static_cast<cudaDataType>(attributes_of(layout)->value<uint32_t>(CUBLASLT_MATRIX_LAYOUT_TYPE));
}

int64_t size_of(cublasLtMatrixLayout_t layout, int attribute) {
  return static_cast<int64_t>(attributes_of(layout)->value<uint64_t>(attribute));
}

}  // namespace

size_t cublasLtGetVersion() { return CUBLAS_VERSION; }
size_t cublasLtGetCudartVersion() { return CUDA_VERSION; }

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  context_of(current_device());
  *handle = reinterpret_cast<cublasLtHandle_t>(new char);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  delete reinterpret_cast<char*>(handle);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type, uint64_t rows,
                                          uint64_t cols, int64_t ld) {
  auto* made = new Attributes;
  made->set(CUBLASLT_MATRIX_LAYOUT_TYPE, static_cast<uint32_t>(type));
  made->set(CUBLASLT_MATRIX_LAYOUT_ORDER, static_cast<int32_t>(CUBLASLT_ORDER_COL));
  made->set(CUBLASLT_MATRIX_LAYOUT_ROWS, rows);
  made->set(CUBLASLT_MATRIX_LAYOUT_COLS, cols);
  made->set(CUBLASLT_MATRIX_LAYOUT_LD, ld);
  made->set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, int32_t{1});
  made->set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, int64_t{0});
  *layout = reinterpret_cast<cublasLtMatrixLayout_t>(made);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) { return destroy(layout); }

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute, const void* value,
                                                size_t size) {
  return set(layout, attribute, value, size);
}

cublasStatus_t cublasLtMatrixLayoutGetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute, void* value, size_t size,
                                                size_t* written) {
  return attributes_of(layout)->get(attribute, value, size, written);
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* desc, cublasComputeType_t compute, cudaDataType scale) {
  auto* made = new Attributes;
  made->set(CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, static_cast<int32_t>(compute));
  made->set(CUBLASLT_MATMUL_DESC_SCALE_TYPE, static_cast<int32_t>(scale));
  made->set(CUBLASLT_MATMUL_DESC_POINTER_MODE, static_cast<int32_t>(CUBLASLT_POINTER_MODE_HOST));
  made->set(CUBLASLT_MATMUL_DESC_TRANSA, static_cast<int32_t>(CUBLAS_OP_N));
  made->set(CUBLASLT_MATMUL_DESC_TRANSB, static_cast<int32_t>(CUBLAS_OP_N));
  made->set(CUBLASLT_MATMUL_DESC_EPILOGUE, static_cast<uint32_t>(CUBLASLT_EPILOGUE_DEFAULT));
  made->set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, int8_t{0});
  *desc = reinterpret_cast<cublasLtMatmulDesc_t>(made);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc) { return destroy(desc); }

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, size_t size) {
  return set(desc, attribute, value, size);
}

cublasStatus_t cublasLtMatmulDescGetAttribute(cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t attribute,
                                              void* value, size_t size, size_t* written) {
  return attributes_of(desc)->get(attribute, value, size, written);
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  *preference = reinterpret_cast<cublasLtMatmulPreference_t>(new Attributes);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) { return destroy(preference); }

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute, const void* value,
                                                    size_t size) {
  return set(preference, attribute, value, size);
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatmulPreference_t, int requested,
                                              cublasLtMatmulHeuristicResult_t results[], int* count) {
  *count = std::min(requested, 1);
  if (*count == 0) return CUBLAS_STATUS_INVALID_VALUE;
  results[0] = {};
  results[0].state = CUBLAS_STATUS_SUCCESS;
  results[0].wavesCount = 1;
  return CUBLAS_STATUS_SUCCESS;
}

// This is the only algorithm: nothing is split, so no partial sums are added up separately.
cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t*, cublasLtMatmulAlgoConfigAttributes_t,
                                                    void* value, size_t size, size_t* written) {
  if (value == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  std::memset(value, 0, size);
  if (written != nullptr) *written = size;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t desc, const void*, const void*,
                              cublasLtMatrixLayout_t a, const void*, cublasLtMatrixLayout_t b, const void*, const void*,
                              cublasLtMatrixLayout_t, void*, cublasLtMatrixLayout_t d, const cublasLtMatmulAlgo_t*,
                              void*, size_t, cudaStream_t stream) {
  const auto compute =
      static_cast<cublasComputeType_t>(attributes_of(desc)->value<int32_t>(CUBLASLT_MATMUL_DESC_COMPUTE_TYPE));
  const bool transposed = attributes_of(desc)->value<int32_t>(CUBLASLT_MATMUL_DESC_TRANSA) != CUBLAS_OP_N;
  launch_gemm({dtype_name(type_of(a)), dtype_name(type_of(b)), dtype_name(type_of(d)), compute_name(compute, false),
               size_of(d, CUBLASLT_MATRIX_LAYOUT_ROWS), size_of(d, CUBLASLT_MATRIX_LAYOUT_COLS),
               size_of(a, transposed ? CUBLASLT_MATRIX_LAYOUT_ROWS : CUBLASLT_MATRIX_LAYOUT_COLS),
               attributes_of(d)->value<int32_t>(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT)},
              stream);
  return CUBLAS_STATUS_SUCCESS;
}
