// Describes matrix products as cuBLAS was called for them: the precision they compute in, and how well they suit Tensor
// Cores.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "server/store/run/gpu_data.h"

namespace castscope::rules {

// Returns "bf16, fp32 accumulation", "TF32", "true fp32", "fp16 accumulation" or "fp64".
std::string computed_in(const store::MatmulCall&);
// Returns "4096 × 50257 × 768", with "12 of " before it for a batch; "many sizes" where there were too many to keep
// each.
std::string sizes_of(const store::MatmulCall&);

// The inputs are fp32, neither rounded nor split: no Tensor Core computes that.
bool is_true_fp32(const store::MatmulCall&);

// Tensor Cores are fed 16 bytes at a time: a matrix whose address or columns are not aligned to that is read in smaller
// pieces, or by kernels without Tensor Cores (NVIDIA, Matrix Multiplication Background).
struct Misaligned {
  char matrix = 'A';                                   // A, B, C
  char dimension = 'm';                                // m, n or k: the dimension along its columns
  std::uint32_t size = 0;                              // of that dimension
  std::uint32_t ld = 0;                                // leading dimension
  std::uint32_t bytes = 0;                             // alignment of its address and columns
  std::uint32_t multiple = 8;                          // elements in 16 bytes
  bool by_size() const { return ld % multiple != 0; }  // else its address is not aligned
  std::uint32_t padded() const { return (size + multiple - 1) / multiple * multiple; }
};
// Returns those of A, B and C that are misaligned; none where the product is not one for Tensor Cores.
std::vector<Misaligned> misaligned(const store::MatmulCall&);

}  // namespace castscope::rules
