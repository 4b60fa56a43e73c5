// The handles, descriptors and layouts of the double.
#pragma once

#include "agent/matmuls/cublas_abi.h"

namespace castscope::matmuls::cublas {

struct HandleStruct {
  MathMode mode = kDefaultMath;
};
struct LtMatmulDescStruct {
  std::int32_t compute = kCompute32F, transpose_a = 0, transpose_b = 0;
  std::uint32_t epilogue = kLtDefaultEpilogue;
};
struct LtLayoutStruct {
  std::uint32_t type = kR16BF;
  std::uint64_t rows = 0, columns = 0;
  std::int64_t leading = 0;
  std::int32_t batch = 1;
  std::int64_t stride = 0;
};
struct LtAlgoStruct {
  std::uint32_t reduction = 0;
};

}  // namespace castscope::matmuls::cublas
