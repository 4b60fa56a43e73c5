// Matrix products as cuBLAS was asked for them: what they compute in, and whether Tensor Cores can take them well.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "server/store/run/gpu_data.h"

namespace castscope::rules {

// "bf16, fp32 accumulation", "TF32", "true fp32", "fp16 accumulation", "fp64".
std::string computed_in(const store::MatmulCall&);
// "4096 × 50257 × 768", with "12 of " before it for a batch; "many sizes" where there were too many to tell each.
std::string sizes_of(const store::MatmulCall&);

// fp32 inputs that are neither rounded nor split: no Tensor Core computes that.
bool is_true_fp32(const store::MatmulCall&);

// Tensor Cores are fed 16 bytes at a time: address and columns of a matrix that are not aligned to that are read in
// smaller pieces, or by kernels without Tensor Cores (NVIDIA, Matrix Multiplication Background).
struct Misaligned {
  char matrix = 'A';                                   // A, B, C
  char dimension = 'm';                                // m, n, k: that lies along its columns
  std::uint32_t size = 0;                              // of that dimension
  std::uint32_t ld = 0;                                // leading dimension
  std::uint32_t bytes = 0;                             // that address and columns are aligned to
  std::uint32_t multiple = 8;                          // elements in 16 bytes
  bool by_size() const { return ld % multiple != 0; }  // else it begins in a place that is not aligned
  std::uint32_t padded() const { return (size + multiple - 1) / multiple * multiple; }
};
// Those of A, B and C; none where the product is not one for Tensor Cores.
std::vector<Misaligned> misaligned(const store::MatmulCall&);

}  // namespace castscope::rules
