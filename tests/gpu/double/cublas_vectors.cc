// cuBLAS's double: the functions that PyTorch needs besides matrix products. Any other function ends the process with
// its name.
#include <string>

#include "cublas_handle.h"
#include "cublas_names.h"
#include "gemm.h"

using namespace nogpu;

namespace {

cublasStatus_t launch(cublasHandle_t handle, const char* what, cudaDataType type) {
  launch_named(std::string("nogpu_") + what + "_" + dtype_name(type), 1, handle_of(handle)->stream);
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

cublasStatus_t cublasSdot_v2(cublasHandle_t handle, int, const float*, int, const float*, int, float*) {
  return launch(handle, "dot", CUDA_R_32F);
}

cublasStatus_t cublasDdot_v2(cublasHandle_t handle, int, const double*, int, const double*, int, double*) {
  return launch(handle, "dot", CUDA_R_64F);
}

cublasStatus_t cublasDotEx(cublasHandle_t handle, int, const void*, cudaDataType type, int, const void*, cudaDataType,
                           int, void*, cudaDataType, cudaDataType) {
  return launch(handle, "dot", type);
}

cublasStatus_t cublasSgemv_v2(cublasHandle_t handle, cublasOperation_t, int, int, const float*, const float*, int,
                              const float*, int, const float*, float*, int) {
  return launch(handle, "gemv", CUDA_R_32F);
}

cublasStatus_t cublasDgemv_v2(cublasHandle_t handle, cublasOperation_t, int, int, const double*, const double*, int,
                              const double*, int, const double*, double*, int) {
  return launch(handle, "gemv", CUDA_R_64F);
}
