#include "gemm.h"

#include <string_view>

#include "api_call.h"

namespace nogpu {
namespace {

// The speed in operations per nanosecond.
uint64_t speed(std::string_view a, std::string_view compute) {
  if (a.starts_with("f8")) return 1'979'000;
  if (a == "bf16" || a == "f16" || compute.ends_with("fast")) return 989'000;
  if (compute == "tf32") return 494'000;
  return 67'000;
}

void launch(const std::string& name, uint64_t duration, uint64_t blocks, void* stream) {
  const char* kept = interned(name);
  const ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_v11060, nullptr, kept);
  Operation kernel;
  kernel.name = kept;
  kernel.duration = duration;
  kernel.grid[0] = static_cast<uint32_t>(blocks);
  kernel.block[0] = 256;
  submit(stream_of(stream), std::move(kernel), call.correlation(), call.name());
}

}  // namespace

std::string gemm_name(const Gemm& gemm) {
  std::string name = "nogpu_gemm";
  for (const char* part : {gemm.a, gemm.b, gemm.c, gemm.compute}) name += std::string("_") + part;
  name += "_m" + std::to_string(gemm.m) + "n" + std::to_string(gemm.n) + "k" + std::to_string(gemm.k);
  if (gemm.batches != 1) name += "_b" + std::to_string(gemm.batches);
  return name;
}

uint64_t gemm_duration(const Gemm& gemm) {
  const auto operations = 2 * static_cast<uint64_t>(gemm.m * gemm.n * gemm.k * gemm.batches);
  return 2000 + operations / speed(gemm.a, gemm.compute);
}

void launch_gemm(const Gemm& gemm, void* stream) {
  const auto blocks = static_cast<uint64_t>(((gemm.m + 127) / 128) * ((gemm.n + 127) / 128) * gemm.batches);
  launch(gemm_name(gemm), gemm_duration(gemm), blocks, stream);
}

void launch_named(const std::string& name, uint64_t blocks, void* stream) {
  launch(name, kernel_duration(name, blocks), blocks, stream);
}

}  // namespace nogpu
