// A double of libcublas and libcublasLt, with what cublas_calls_test.cc needs of them. It computes no products.
#include "agent/matmuls/fakes/cublas_double.h"

#include <cstring>

using namespace castscope::matmuls::cublas;  // NOLINT

namespace {

template <typename T>
Status give(T value, void* to, std::size_t bytes, std::size_t* written) {
  if (bytes != sizeof value) return static_cast<Status>(7);  // as cuBLASLt refuses another size
  std::memcpy(to, &value, sizeof value);
  *written = sizeof value;
  return kSuccess;
}

}  // namespace

extern "C" {

Status cublasGemmEx(Handle, Operation, Operation, int m, int, int, const void*, const void*, DataType, int, const void*,
                    DataType, int, const void*, void*, DataType, int, ComputeType, GemmAlgo) {
  return m < 0 ? static_cast<Status>(7) : kSuccess;
}

Status cublasGetMathMode(Handle handle, MathMode* mode) {
  *mode = handle->mode;
  return kSuccess;
}

Status cublasLtMatmul(LtHandle, LtMatmulDesc, const void*, const void*, LtLayout, const void*, LtLayout, const void*,
                      const void*, LtLayout, void*, LtLayout, const LtAlgoStruct*, void*, std::size_t, StreamStruct*) {
  return kSuccess;
}

Status cublasLtMatmulDescGetAttribute(LtMatmulDesc desc, LtDescAttribute which, void* to, std::size_t bytes,
                                      std::size_t* written) {
  switch (which) {
    case kLtComputeType:
      return give(desc->compute, to, bytes, written);
    case kLtTransposeA:
      return give(desc->transpose_a, to, bytes, written);
    case kLtTransposeB:
      return give(desc->transpose_b, to, bytes, written);
    case kLtEpilogue:
      return give(desc->epilogue, to, bytes, written);
  }
  return static_cast<Status>(7);
}

Status cublasLtMatrixLayoutGetAttribute(LtLayout layout, LtLayoutAttribute which, void* to, std::size_t bytes,
                                        std::size_t* written) {
  switch (which) {
    case kLtType:
      return give(layout->type, to, bytes, written);
    case kLtRows:
      return give(layout->rows, to, bytes, written);
    case kLtColumns:
      return give(layout->columns, to, bytes, written);
    case kLtLeading:
      return give(layout->leading, to, bytes, written);
    case kLtBatch:
      return give(layout->batch, to, bytes, written);
    case kLtBatchStride:
      return give(layout->stride, to, bytes, written);
    default:
      return static_cast<Status>(7);  // as older versions refuse the batch mode
  }
}

Status cublasLtMatmulAlgoConfigGetAttribute(const LtAlgoStruct* algo, LtAlgoAttribute, void* to, std::size_t bytes,
                                            std::size_t* written) {
  return give(algo->reduction, to, bytes, written);
}
}
