#include "nogpu.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "api_call.h"
#include "device.h"
#include "subscriber.h"

using namespace nogpu;

uint32_t nogpu_launch(const char* kernel_name, uint64_t ns, uint64_t stream) {
  const ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, nullptr, kernel_name);
  Operation kernel;
  kernel.name = interned(kernel_name);
  kernel.duration = ns == 0 ? kernel_duration(kernel_name, 1) : ns;
  submit(numbered_stream(stream), std::move(kernel), call.correlation(), call.name());
  return call.correlation();
}

uint32_t nogpu_memcpy(uint64_t bytes) {
  const ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020);
  Operation copy;
  copy.kind = OperationKind::kMemcpy;
  copy.name = "Memcpy HtoD";
  copy.bytes = bytes;
  copy.copy_kind = CUPTI_ACTIVITY_MEMCPY_KIND_HTOD;
  copy.from = CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
  copy.to = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  copy.duration = copy_duration(bytes, false);
  submit(stream_of(nullptr), std::move(copy), call.correlation(), call.name());
  return call.correlation();
}

void nogpu_synchronize() {
  const ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaDeviceSynchronize_v3020);
  for (int device = 0; device < kMostDevices; ++device) wait_until(end_of_device(device));
}

uint64_t nogpu_now() { return now(); }
uint64_t nogpu_kernel_ns(const char* name, uint64_t blocks) { return kernel_duration(name, blocks); }
int nogpu_seat_is_taken() { return seat_is_taken() ? 1 : 0; }
uint64_t nogpu_operations() { return operation_count(); }

// The real libraries export this name and the double does not have it: no caller may go on as if it had worked.
extern "C" [[noreturn]] void nogpu_missing(const char* name) {
  std::fprintf(stderr, "The double of the GPU stack has no %s.\n", name);
  std::abort();
}
