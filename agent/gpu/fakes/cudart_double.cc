// libcudart for tests: launches do nothing, all calls are noted.
#include <atomic>
#include <string>
#include <vector>

#include "agent/gpu/cudart_abi.h"

using namespace castscope::gpu::cudart;

namespace {
std::vector<std::string>& noted() {
  static std::vector<std::string> calls;
  return calls;
}
Error note(const char* call) {
  noted().emplace_back(call);
  return kSuccess;
}
}  // namespace

extern "C" {
std::vector<std::string>* cudart_double_calls() { return &noted(); }

Error cudaLaunchKernel(const void*, Dim3 grid, Dim3 block, void** arguments, std::size_t shared, Stream) {
  const bool intact = grid.x == 1 && grid.y == 2 && grid.z == 3 && block.z == 6 && arguments == nullptr && shared == 7;
  return intact ? note("cudaLaunchKernel") : static_cast<Error>(1);
}
Error __cudaLaunchKernel(Kernel, Dim3 grid, Dim3 block, void** arguments, std::size_t shared, Stream stream) {
  note("__cudaLaunchKernel");
  return cudaLaunchKernel(nullptr, grid, block, arguments, shared, stream);
}
Error cudaLaunchKernelExC(const LaunchConfig*, const void*, void**) { return note("cudaLaunchKernelExC"); }

Error cudaGetDeviceCount(int* count) {
  *count = 1;
  return kSuccess;
}
Error cudaMemcpyAsync(void*, const void*, std::size_t, int, Stream) { return note("cudaMemcpyAsync"); }
Error cudaMemsetAsync(void*, int, std::size_t, Stream) { return note("cudaMemsetAsync"); }
Error cudaGetDevice(int* device) {
  *device = 0;
  return kSuccess;
}
Error cudaSetDevice(int) { return kSuccess; }
Error cudaEventCreateWithFlags(Event* event, unsigned) {
  static char events[1024];
  static std::atomic<unsigned> made{0};
  *event = reinterpret_cast<Event>(&events[made++ % sizeof(events)]);
  return kSuccess;
}
Error cudaEventRecord(Event, Stream) { return note("cudaEventRecord"); }
Error cudaEventQuery(Event) { return kSuccess; }
Error cudaEventElapsedTime(float* milliseconds, Event, Event) {
  *milliseconds = 0.25;
  return kSuccess;
}
Error cudaStreamIsCapturing(Stream, CaptureStatus* status) {
  *status = kNotCapturing;
  return kSuccess;
}
Error cudaThreadExchangeStreamCaptureMode(CaptureMode*) { return kSuccess; }
Error cudaPeekAtLastError() { return kSuccess; }
Error cudaGetLastError() { return kSuccess; }
}
