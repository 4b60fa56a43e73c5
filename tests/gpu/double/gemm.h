// A matrix product on a virtual device: a kernel whose name says how it was called.
#pragma once

#include <cstdint>
#include <string>

#include "device.h"

namespace nogpu {

struct Gemm {
  const char *a, *b, *c;  // dtypes: bf16, f16, f32, …
  const char* compute;    // f32, tf32, f16, …
  int64_t m, n, k, batches = 1;
};

// nogpu_gemm_bf16_bf16_bf16_f32_m128n64k32, followed by _b8 if it is a batch.
std::string gemm_name(const Gemm& gemm);
// The duration is 2,000 ns and the time that the product's operations take at an H100's speed for that compute type.
uint64_t gemm_duration(const Gemm& gemm);
// Launches it as cuBLAS does, by cudaLaunchKernelExC.
void launch_gemm(const Gemm& gemm, void* stream);
// Does the same for a call of cuBLAS that is not a matrix product: nogpu_dot_f32.
void launch_named(const std::string& name, uint64_t blocks, void* stream);

}  // namespace nogpu
