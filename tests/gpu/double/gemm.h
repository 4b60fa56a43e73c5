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

// nogpu_gemm_bf16_bf16_bf16_f32_m128n64k32, and _b8 behind it where it is a batch.
std::string gemm_name(const Gemm& gemm);
// 2,000 ns and what the product's operations take at an H100's speed for that compute type.
uint64_t gemm_duration(const Gemm& gemm);
// Launches it as cuBLAS does, by cudaLaunchKernelExC.
void launch_gemm(const Gemm& gemm, void* stream);
// The same for what is no matrix product but a call of cuBLAS: nogpu_dot_f32.
void launch_named(const std::string& name, uint64_t blocks, void* stream);

}  // namespace nogpu
