// The part of CUPTI's interface that castscope uses, in our own words: the agent is built on machines that have no CUDA
// headers, for a PyTorch that may bring any CUPTI of CUDA 11 to 13. This part has not changed since: the fields of
// records keep their places from one CUpti_ActivityKernelN to the next (N = 5 … 10), which only grow at the end.
// tests/gpu/check_cupti_abi.cc holds it against NVIDIA's headers (scripts/check-gpu-abi).
//
// Source of these statements: the comments of cupti_activity.h and cupti_callbacks.h, and
// https://docs.nvidia.com/cupti/main/main.html
#pragma once

#include <cstddef>
#include <cstdint>

namespace castscope::gpu::cupti {

using Result = int;
inline constexpr Result kSuccess = 0, kMultipleSubscribers = 39;

enum ActivityKind : int {
  kMemcpy = 1,
  kMemset = 2,
  kDriver = 4,
  kRuntime = 5,
  kConcurrentKernel = 10,
  kPeerMemcpy = 22,  // CUPTI_ACTIVITY_KIND_MEMCPY2: between devices
  kExternalCorrelation = 39,
};
inline constexpr int kKindOurs = 5;  // CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2: torch.profiler has CUSTOM0 and 1
inline constexpr std::uint32_t kFlushForced = 1;
// From this version on a request for a buffer may be refused (CUDA 12.9; before, CUPTI crashes).
inline constexpr std::uint32_t kMayRefuseBuffers = 27;
// From this version on (CUDA 12.6) CUPTI may come and go while graphs exist; before, their replays may crash or hang
// (https://github.com/pytorch/pytorch/issues/75504, https://github.com/pytorch/pytorch/pull/150957).
inline constexpr std::uint32_t kStandsGraphs = 24;

// The begin of each record; the rest depends on its kind.
struct Record {
  std::uint32_t kind;
};
struct ExternalCorrelationRecord {
  std::uint32_t kind;
  std::uint32_t external_kind;
  std::uint64_t external_id;
  std::uint32_t correlation_id;
};
// The record of a call of the driver or the runtime. Times are those of cuptiGetTimestamp.
struct ApiRecord {
  std::uint32_t kind;
  std::uint32_t callback_id;
  std::uint64_t start, end;
  std::uint32_t process_id, thread_id;
  std::uint32_t correlation_id;
  std::uint32_t result;  // return value of the function
};
struct KernelRecord {
  std::uint32_t kind;
  std::uint8_t settings[12];
  std::uint64_t start, end;  // 0, 0: not known
  std::uint64_t completed;
  std::uint32_t device, context, stream;
  std::int32_t grid[3], block[3];
  std::int32_t memory[4];
  std::uint32_t correlation_id;
  std::int64_t grid_id;
  const char* name;  // the compiler's name for it; the memory is CUPTI's, shared by all records of the kernel
  std::uint64_t more[4];
  std::uint64_t graph_node;  // 0: the kernel belongs to no CUDA graph
};
struct MemcpyRecord {
  std::uint32_t kind;
  std::uint8_t direction;  // CUpti_ActivityMemcpyKind
  std::uint8_t more[3];
  std::uint64_t bytes;
  std::uint64_t start, end;
  std::uint32_t device, context, stream;
  std::uint32_t correlation_id;
  std::uint64_t more_[2];
  std::uint64_t graph_node;
};
struct PeerMemcpyRecord {
  std::uint32_t kind;
  std::uint8_t direction;
  std::uint8_t more[3];
  std::uint64_t bytes;
  std::uint64_t start, end;
  std::uint32_t device, context, stream;
  std::uint32_t from_device, from_context, to_device, to_context;
  std::uint32_t correlation_id;
  std::uint64_t more_;
  std::uint64_t graph_node;
};
struct MemsetRecord {
  std::uint32_t kind;
  std::uint32_t value;
  std::uint64_t bytes;
  std::uint64_t start, end;
  std::uint32_t device, context, stream;
  std::uint32_t correlation_id;
  std::uint64_t more[2];
  std::uint64_t graph_node;
};
static_assert(offsetof(KernelRecord, start) == 16 && offsetof(KernelRecord, device) == 40 &&
              offsetof(KernelRecord, grid) == 52 && offsetof(KernelRecord, correlation_id) == 92 &&
              offsetof(KernelRecord, name) == 104 && offsetof(KernelRecord, graph_node) == 144);
static_assert(offsetof(MemcpyRecord, start) == 16 && offsetof(MemcpyRecord, correlation_id) == 44 &&
              offsetof(MemcpyRecord, graph_node) == 64);
static_assert(offsetof(PeerMemcpyRecord, correlation_id) == 60 && offsetof(PeerMemcpyRecord, graph_node) == 72);
static_assert(offsetof(MemsetRecord, correlation_id) == 44 && offsetof(MemsetRecord, graph_node) == 64);

using BufferRequested = void (*)(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records);
using BufferCompleted = void (*)(void* context, std::uint32_t stream, std::uint8_t* buffer, std::size_t size,
                                 std::size_t valid);
using Timestamp = std::uint64_t (*)();
using Callback = void (*)(void* user, int domain, std::uint32_t callback_id, const void* data);
using Subscriber = void*;

// Functions that launch work on a device, or capture it. Their activity has to be recorded, since only the record of a
// function is preceded by the ticket that was pushed in front of it. As of CUDA 13.0. Any other function that launches
// shows as work whose call is not known, and from then on all functions are recorded (timing.cc).
inline constexpr std::uint16_t kLaunchingRuntime[] = {31,  41,  44,  49,  51,  161, 211, 214, 215, 225, 235, 269, 270,
                                                      272, 311, 312, 315, 316, 319, 320, 430, 431, 452, 453, 505, 506};
// cudaStreamBeginCapture, …ToGraph; cudaStreamEndCapture.
constexpr bool begins_capture(std::uint32_t id) { return id == 315 || id == 316 || id == 452 || id == 453; }
constexpr bool ends_capture(std::uint32_t id) { return id == 319 || id == 320; }
inline constexpr std::uint16_t kLaunchingDriver[] = {
    115, 116, 117, 43,  45,  47,  60,  62,  64,  216, 218, 220, 222, 224, 226, 248, 276, 277, 278, 279,
    280, 281, 305, 306, 307, 418, 428, 429, 430, 431, 432, 433, 442, 477, 478, 480, 514, 515, 652, 653};

// CUPTI_RUNTIME_TRACE_CBID_SIZE and CUPTI_DRIVER_TRACE_CBID_SIZE of CUDA 13.0. Of functions that are newer every call
// is recorded, which costs a little and harms nothing.
inline constexpr std::uint32_t kRuntimeFunctions = 523, kDriverFunctions = 807;

inline bool launches_work(std::uint32_t kind, std::uint32_t id) {
  const auto has = [id](const auto& list) {
    for (const std::uint16_t one : list)
      if (one == id) return true;
    return false;
  };
  return kind == kRuntime ? has(kLaunchingRuntime) : has(kLaunchingDriver);
}

// The argument of a callback of the resource domain.
inline constexpr int kResourceDomain = 3;
inline constexpr std::uint32_t kGraphNodeCreated = 13, kGraphNodeCloned = 20;
struct ResourceData {
  void* context;
  void* handle;
  const void* descriptor;
};
struct GraphData {
  void* graph;
  void* original_graph;
  void* node;
  void* original_node;
};

// CUPTI's functions, as found in the one copy that the process has loaded.
struct Api {
  Result (*subscribe)(Subscriber*, Callback, void* user) = nullptr;
  Result (*unsubscribe)(Subscriber) = nullptr;
  Result (*enable_callback)(std::uint32_t on, Subscriber, int domain, std::uint32_t callback_id) = nullptr;
  Result (*graph_node_id)(void* node, std::uint64_t*) = nullptr;  // CUDA 11.1 and later
  Result (*register_callbacks)(BufferRequested, BufferCompleted) = nullptr;
  Result (*enable)(ActivityKind) = nullptr;
  Result (*disable)(ActivityKind) = nullptr;
  Result (*enable_runtime)(std::uint32_t callback_id, std::uint8_t on) = nullptr;  // CUDA 12.5 and later
  Result (*enable_driver)(std::uint32_t callback_id, std::uint8_t on) = nullptr;
  Result (*flush_all)(std::uint32_t flags) = nullptr;
  Result (*next_record)(std::uint8_t* buffer, std::size_t valid, Record**) = nullptr;
  Result (*dropped)(void* context, std::uint32_t stream, std::size_t*) = nullptr;
  Result (*push)(int kind, std::uint64_t id) = nullptr;
  Result (*pop)(int kind, std::uint64_t* last) = nullptr;
  Result (*timestamp)(std::uint64_t*) = nullptr;
  Result (*version)(std::uint32_t*) = nullptr;
  Result (*result_string)(Result, const char**) = nullptr;
};

}  // namespace castscope::gpu::cupti
