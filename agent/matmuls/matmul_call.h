// A call of cuBLAS or cuBLASLt, as its arguments tell it.
#pragma once

#include <cstdint>

#include "agent/lanes/definition_records.h"

namespace castscope::matmuls {

inline constexpr std::uint8_t kNotInTorch = 0xff;

// The fields are those of lanes::MatmulDefinition, which explains them.
struct MatmulCall {
  const char* function = "";  // its name, which stays
  std::uint32_t m = 0, n = 0, k = 0, batch = 0;
  std::uint32_t lda = 0, ldb = 0, ldc = 0;
  std::uint8_t a = kNotInTorch, b = kNotInTorch, c = kNotInTorch;
  lanes::MatmulCompute compute = lanes::MatmulCompute::kUnknown;
  std::uint8_t align_a = 0, align_b = 0, align_c = 0;
  std::uint8_t flags = 0;
  bool operator==(const MatmulCall&) const = default;
};

// Called for every call that succeeds while matmuls are wanted, by the thread that makes it.
void matmul_called(const MatmulCall& call) noexcept;

}  // namespace castscope::matmuls
