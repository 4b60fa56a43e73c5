// Shared by the parts of the runtime's double: results, handles, events, memory, and kernels by address.
#pragma once

#include <cuda_runtime_api.h>
#include <cupti.h>

#include <memory>
#include <vector>

#include "api_call.h"
#include "device.h"
#include "device_limits.h"
#include "graph.h"

namespace nogpu {

// Reports the call's result to CUPTI's side, and keeps an error for cudaGetLastError.
cudaError_t done(ApiCall& call, cudaError_t result = cudaSuccess);
cudaError_t& last_error();

inline Stream* stream_of(cudaStream_t stream) { return stream_of(static_cast<void*>(stream)); }

struct Event {
  uint32_t id = 0;
  unsigned flags = 0;
  int device = 0;
  bool recorded = false;
  uint64_t time = 0;
  std::shared_ptr<Capture> capture;  // the capture that recorded it, if any
  std::vector<GraphNode*> dependencies;
};

inline Event* event_of(cudaEvent_t event) { return reinterpret_cast<Event*>(event); }

// Returns the name that a kernel was registered with.
const char* kernel_name(const void* function);

enum class MemoryPlace { kUnknown, kDevice, kHost };

struct Memory {
  MemoryPlace place = MemoryPlace::kUnknown;
  int device = 0;
  char* start = nullptr;
  size_t size = 0;
};

Memory memory_at(const void* address);
void* allocate(MemoryPlace place, size_t size);
bool release(void* start);
size_t memory_in_use(int device);
// Returns the device's copy of one of the program's variables, which is made when it is first asked for.
Memory variable_of(const void* symbol);

}  // namespace nogpu
