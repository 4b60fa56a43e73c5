// The runtime's double: device memory, which is memory of the host, and copies, which are really made.
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "cudart_state.h"
#include "cupti_records.h"

namespace nogpu {
namespace {

struct Block {
  size_t size;
  MemoryPlace place;
  int device;
  bool ours;  // false for memory that the program registered
};

struct Memories {
  std::mutex lock;
  std::map<char*, Block> blocks;
  size_t used[kMostDevices] = {};
};

Memories& memories() {
  static auto* all = new Memories;
  return *all;
}

}  // namespace

Memory memory_at(const void* address) {
  std::lock_guard guard(memories().lock);
  auto* const where = static_cast<char*>(const_cast<void*>(address));
  auto after = memories().blocks.upper_bound(where);
  if (after == memories().blocks.begin()) return {};
  const auto& [start, block] = *std::prev(after);
  if (where >= start + block.size) return {};
  return {block.place, block.device, start, block.size};
}

void* allocate(MemoryPlace place, size_t size) {
  std::lock_guard guard(memories().lock);
  const int device = current_device();
  size_t& used = memories().used[device];
  if (place == MemoryPlace::kDevice && used + size > kDeviceMemory) return nullptr;
  size = std::max<size_t>(size, 1);
  // This takes no memory of the machine until it is written to, which kernels here never do.
  void* start = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) return nullptr;
  if (place == MemoryPlace::kDevice) used += size;
  memories().blocks[static_cast<char*>(start)] = {size, place, device, true};
  return start;
}

bool release(void* start) {
  std::lock_guard guard(memories().lock);
  auto found = memories().blocks.find(static_cast<char*>(start));
  if (found == memories().blocks.end()) return false;
  const Block block = found->second;
  memories().blocks.erase(found);
  if (block.place == MemoryPlace::kDevice) memories().used[block.device] -= block.size;
  if (block.ours) munmap(start, block.size);
  return true;
}

size_t memory_in_use(int device) {
  std::lock_guard guard(memories().lock);
  return memories().used[device];
}

}  // namespace nogpu

using namespace nogpu;

namespace {

struct CopyKind {
  uint8_t kind, from, to;
  const char* name;
};

CopyKind kind_of(const void* to, const void* from) {
  const bool to_device = memory_at(to).place == MemoryPlace::kDevice;
  const bool from_device = memory_at(from).place == MemoryPlace::kDevice;
  const auto host = [](const void* address) -> uint8_t {
    return memory_at(address).place == MemoryPlace::kHost ? CUPTI_ACTIVITY_MEMORY_KIND_PINNED
                                                          : CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE;
  };
  const uint8_t device = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  if (to_device && from_device) return {CUPTI_ACTIVITY_MEMCPY_KIND_DTOD, device, device, "Memcpy DtoD"};
  if (to_device) return {CUPTI_ACTIVITY_MEMCPY_KIND_HTOD, host(from), device, "Memcpy HtoD"};
  if (from_device) return {CUPTI_ACTIVITY_MEMCPY_KIND_DTOH, device, host(to), "Memcpy DtoH"};
  return {CUPTI_ACTIVITY_MEMCPY_KIND_HTOH, host(from), host(to), "Memcpy HtoH"};
}

Operation copy_operation(void* to, const void* from, size_t bytes, std::function<void()> effect) {
  const CopyKind kind = kind_of(to, from);
  Operation copy;
  copy.kind = OperationKind::kMemcpy;
  copy.name = kind.name;
  copy.copy_kind = kind.kind;
  copy.from = kind.from;
  copy.to = kind.to;
  copy.bytes = bytes;
  copy.duration = copy_duration(bytes, kind.kind == CUPTI_ACTIVITY_MEMCPY_KIND_DTOD);
  copy.effect = std::move(effect);
  return copy;
}

void submit_copy(const ApiCall& call, Stream* stream, void* to, const void* from, size_t bytes) {
  submit(stream, copy_operation(to, from, bytes, [=] { std::memmove(to, from, bytes); }), call.correlation(),
         call.name());
}

void submit_memset(const ApiCall& call, Stream* stream, void* to, int value, size_t bytes) {
  Operation set;
  set.kind = OperationKind::kMemset;
  set.name = "Memset";
  set.value = static_cast<uint32_t>(value);
  set.bytes = bytes;
  set.duration = memset_duration(bytes);
  set.effect = [=] { std::memset(to, value, bytes); };
  submit(stream, std::move(set), call.correlation(), call.name());
}

cudaError_t give(ApiCall& call, MemoryPlace place, void** start, size_t size) {
  context_of(current_device());
  *start = size == 0 ? nullptr : allocate(place, size);
  return done(call, *start == nullptr && size != 0 ? cudaErrorMemoryAllocation : cudaSuccess);
}

cudaError_t take_back(ApiCall& call, void* start) {
  context_of(current_device());
  return done(call, start == nullptr || release(start) ? cudaSuccess : cudaErrorInvalidValue);
}

}  // namespace

cudaError_t cudaMalloc(void** start, size_t size) {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020);
  return give(call, MemoryPlace::kDevice, start, size);
}

cudaError_t cudaMallocAsync(void** start, size_t size, cudaStream_t) {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaMallocAsync_v11020);
  return give(call, MemoryPlace::kDevice, start, size);
}

cudaError_t cudaHostAlloc(void** start, size_t size, unsigned) {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaHostAlloc_v3020);
  return give(call, MemoryPlace::kHost, start, size);
}

cudaError_t cudaFree(void* start) {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaFree_v3020);
  return take_back(call, start);
}

cudaError_t cudaFreeAsync(void* start, cudaStream_t) {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaFreeAsync_v11020);
  return take_back(call, start);
}

cudaError_t cudaFreeHost(void* start) {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaFreeHost_v3020);
  return take_back(call, start);
}

cudaError_t cudaHostRegister(void* start, size_t size, unsigned) {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaHostRegister_v4000);
  std::lock_guard guard(memories().lock);
  memories().blocks[static_cast<char*>(start)] = {size, MemoryPlace::kHost, current_device(), false};
  return done(call);
}

cudaError_t cudaHostUnregister(void* start) {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaHostUnregister_v4000);
  return take_back(call, start);
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaMemGetInfo_v3020);
  *total = kDeviceMemory;
  *free = kDeviceMemory - memory_in_use(current_device());
  return done(call);
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* address) {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaPointerGetAttributes_v4000);
  const Memory memory = memory_at(address);
  *attributes = {};
  attributes->device = memory.device;
  void* const same = const_cast<void*>(address);
  switch (memory.place) {
    case MemoryPlace::kDevice:
      attributes->type = cudaMemoryTypeDevice;
      attributes->devicePointer = same;
      break;
    case MemoryPlace::kHost:
      attributes->type = cudaMemoryTypeHost;
      attributes->devicePointer = attributes->hostPointer = same;
      break;
    case MemoryPlace::kUnknown:
      attributes->type = cudaMemoryTypeUnregistered;
      attributes->device = -2;
      attributes->hostPointer = same;
      break;
  }
  return done(call);
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  const cudaMemcpyAsync_v3020_params params{to, from, bytes, kind, stream};
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020, &params);
  if (bytes != 0) submit_copy(call, stream_of(stream), to, from, bytes);
  return done(call);
}

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  const cudaMemcpy_v3020_params params{to, from, bytes, kind};
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaMemcpy_v3020, &params);
  if (bytes != 0) submit_copy(call, stream_of(cudaStream_t{}), to, from, bytes);
  wait_until(end_of(stream_of(cudaStream_t{})));
  return done(call);
}

cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, size_t bytes,
                                cudaStream_t stream) {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyPeerAsync_v4000);
  if (bytes == 0) return done(call);
  Operation copy = copy_operation(to, from, bytes, [=] { std::memmove(to, from, bytes); });
  if (to_device != from_device) {
    copy.name = "Memcpy PtoP";
    copy.copy_kind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP;
  }
  submit(stream_of(stream), std::move(copy), call.correlation(), call.name());
  return done(call);
}

cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                              size_t height, cudaMemcpyKind, cudaStream_t stream) {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaMemcpy2DAsync_v3020);
  const auto effect = [=] {
    for (size_t row = 0; row < height; ++row) {
      std::memmove(static_cast<char*>(to) + row * to_pitch, static_cast<const char*>(from) + row * from_pitch, width);
    }
  };
  submit(stream_of(stream), copy_operation(to, from, width * height, effect), call.correlation(), call.name());
  return done(call);
}

cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* from, size_t bytes, size_t offset, cudaMemcpyKind) {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyToSymbol_v3020);
  const Memory variable = variable_of(symbol);
  if (variable.start == nullptr || offset + bytes > variable.size) return done(call, cudaErrorInvalidSymbol);
  submit_copy(call, stream_of(cudaStream_t{}), variable.start + offset, from, bytes);
  return done(call);
}

cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  const cudaMemsetAsync_v3020_params params{to, value, bytes, stream};
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaMemsetAsync_v3020, &params);
  if (bytes != 0) submit_memset(call, stream_of(stream), to, value, bytes);
  return done(call);
}

cudaError_t cudaMemset(void* to, int value, size_t bytes) {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaMemset_v3020);
  if (bytes != 0) submit_memset(call, stream_of(cudaStream_t{}), to, value, bytes);
  return done(call);
}
