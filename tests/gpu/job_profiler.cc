// A job's own client of CUPTI, which acts in the same order as torch.profiler: it subscribes, registers its callbacks
// and enables kinds of activity; later it disables them, flushes, resets an attribute, and reads. It knows nothing of
// castscope.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "../../agent/gpu/cupti/cupti_abi.h"

using castscope::gpu::cupti::ActivityKind;
using castscope::gpu::cupti::Callback;
using castscope::gpu::cupti::Record;
using castscope::gpu::cupti::Result;
using castscope::gpu::cupti::Subscriber;

extern "C" {
Result cuptiSubscribe(Subscriber*, Callback, void*);
Result cuptiUnsubscribe(Subscriber);
Result cuptiActivityRegisterCallbacks(castscope::gpu::cupti::BufferRequested, castscope::gpu::cupti::BufferCompleted);
Result cuptiActivityEnable(ActivityKind);
Result cuptiActivityDisable(ActivityKind);
Result cuptiActivityFlushAll(std::uint32_t);
Result cuptiActivitySetAttribute(int, std::size_t*, void*);
Result cuptiActivityGetNextRecord(std::uint8_t*, std::size_t, Record**);
}

namespace {

constexpr int kPerThreadBuffers = 9;  // CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER

std::atomic<int> g_kernels{0};
Subscriber g_subscriber;

void requested(std::uint8_t** buffer, std::size_t* size, std::size_t* most) {
  *size = 1 << 16;
  *buffer = static_cast<std::uint8_t*>(std::malloc(*size));
  *most = 0;
}

void completed(void*, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
  Record* record = nullptr;
  while (cuptiActivityGetNextRecord(buffer, valid, &record) == 0) g_kernels += record->kind == 10;
  std::free(buffer);
}

void callback(void*, int, std::uint32_t, const void*) {}

}  // namespace

extern "C" {

// Returns 0, or CUPTI's error. `subscribes`: torch.profiler subscribes, or does not any more: PyTorch's next versions
// record without.
int profile_begin(int subscribes) {
  g_kernels = 0;
  if (subscribes == 0) {
    g_subscriber = nullptr;
  } else if (const Result error = cuptiSubscribe(&g_subscriber, callback, nullptr)) {
    return error;
  }
  if (const Result error = cuptiActivityRegisterCallbacks(requested, completed)) return error;
  return cuptiActivityEnable(castscope::gpu::cupti::kConcurrentKernel);
}

// Returns how many kernels were reported to it.
int profile_end() {
  cuptiActivityDisable(castscope::gpu::cupti::kConcurrentKernel);
  cuptiActivityFlushAll(castscope::gpu::cupti::kFlushForced);
  std::uint8_t no = 0;  // buffers by thread: it is reset after each profile, also if the profile did not ask for them
  std::size_t size = sizeof(no);
  cuptiActivitySetAttribute(kPerThreadBuffers, &size, &no);
  if (g_subscriber != nullptr) cuptiUnsubscribe(g_subscriber);
  return g_kernels;
}
}
