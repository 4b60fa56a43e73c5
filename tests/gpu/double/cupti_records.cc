#include "cupti_records.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <vector>

#include "activity_buffers.h"
#include "subscriber.h"

namespace nogpu {
namespace {

struct Enabled {
  std::array<std::atomic<bool>, CUPTI_ACTIVITY_KIND_COUNT> kinds{};
  std::array<std::atomic<bool>, kMostCallbackIds> runtime{}, driver{};
  std::atomic<bool> any_api{false};
  // Whether single functions are obeyed while their kind is off: where some were on when a context was made, until the
  // kind is switched.
  std::atomic<bool> singly_runtime{false}, singly_driver{false};
  std::atomic<bool> any_context{false};
};

Enabled& enabled() {
  static Enabled* all = new Enabled;
  return *all;
}

bool is_enabled(CUpti_ActivityKind kind) { return enabled().kinds[kind].load(std::memory_order_relaxed); }

std::atomic<CUpti_ActivityThreadIdType> thread_id_type{CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT};

uint32_t thread_id() {
  const bool of_system = thread_id_type.load() == CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM;
  return static_cast<uint32_t>(of_system ? static_cast<uint64_t>(syscall(SYS_gettid)) : pthread_self());
}

using ExternalIds = std::array<std::vector<uint64_t>, CUPTI_EXTERNAL_CORRELATION_KIND_SIZE>;

ExternalIds& external_ids() {
  // It is leaked: calls are made while threads end.
  thread_local auto* const stacks = new ExternalIds;
  return *stacks;
}

template <typename Struct>
Record record_of(const Struct& filled, uint32_t times, uint64_t complete_at) {
  static_assert(sizeof(Struct) <= sizeof(Record::bytes));
  Record record;
  record.complete_at = complete_at;
  record.size = sizeof(Struct);
  record.times = times;
  std::memcpy(record.bytes, &filled, sizeof(Struct));
  return record;
}

// Fills in the fields that records of kernels, copies and memsets share.
template <typename Struct>
Struct operation_record(const Execution& execution, CUpti_ActivityKind kind) {
  Struct record{};
  record.kind = kind;
  record.start = execution.start;
  record.end = execution.end;
  record.deviceId = static_cast<uint32_t>(execution.device);
  record.contextId = static_cast<uint32_t>(execution.device) + 1;
  record.streamId = execution.stream;
  record.correlationId = execution.correlation;
  record.graphNodeId = execution.graph_node;
  record.graphId = execution.graph;
  return record;
}

Record kernel_record(const Execution& execution, CUpti_ActivityKind kind) {
  static std::atomic<int64_t> next_grid{1};
  auto record = operation_record<CUpti_ActivityKernel10>(execution, kind);
  const Operation& operation = execution.operation;
  record.completed = execution.end;
  record.gridX = static_cast<int32_t>(operation.grid[0]);
  record.gridY = static_cast<int32_t>(operation.grid[1]);
  record.gridZ = static_cast<int32_t>(operation.grid[2]);
  record.blockX = static_cast<int32_t>(operation.block[0]);
  record.blockY = static_cast<int32_t>(operation.block[1]);
  record.blockZ = static_cast<int32_t>(operation.block[2]);
  record.dynamicSharedMemory = static_cast<int32_t>(operation.shared_bytes);
  record.registersPerThread = 32;
  record.gridId = next_grid.fetch_add(1);
  record.name = operation.name;
  record.queued = record.submitted = CUPTI_TIMESTAMP_UNKNOWN;
  record.launchType = CUPTI_ACTIVITY_LAUNCH_TYPE_REGULAR;
  record.channelType = CUPTI_CHANNEL_TYPE_COMPUTE;
  Record result = record_of(record, offsetof(CUpti_ActivityKernel10, start), execution.end);
  result.third_time = offsetof(CUpti_ActivityKernel10, completed);
  return result;
}

void keep_copy(const Execution& execution) {
  auto record = operation_record<CUpti_ActivityMemcpy6>(execution, CUPTI_ACTIVITY_KIND_MEMCPY);
  record.copyKind = execution.operation.copy_kind;
  record.srcKind = execution.operation.from;
  record.dstKind = execution.operation.to;
  record.flags = CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC;
  record.bytes = execution.operation.bytes;
  record.channelType = CUPTI_CHANNEL_TYPE_ASYNC_MEMCPY;
  record.copyCount = 1;
  keep_record(record_of(record, offsetof(CUpti_ActivityMemcpy6, start), execution.end));
}

// Keeps the record of a copy between devices.
void keep_peer_copy(const Execution& execution) {
  auto record = operation_record<CUpti_ActivityMemcpyPtoP4>(execution, CUPTI_ACTIVITY_KIND_MEMCPY2);
  record.copyKind = execution.operation.copy_kind;
  record.srcKind = execution.operation.from;
  record.dstKind = execution.operation.to;
  record.flags = CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC;
  record.bytes = execution.operation.bytes;
  record.channelType = CUPTI_CHANNEL_TYPE_ASYNC_MEMCPY;
  keep_record(record_of(record, offsetof(CUpti_ActivityMemcpyPtoP4, start), execution.end));
}

void keep_memset(const Execution& execution) {
  auto record = operation_record<CUpti_ActivityMemset4>(execution, CUPTI_ACTIVITY_KIND_MEMSET);
  record.value = execution.operation.value;
  record.bytes = execution.operation.bytes;
  record.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  record.channelType = CUPTI_CHANNEL_TYPE_COMPUTE;
  keep_record(record_of(record, offsetof(CUpti_ActivityMemset4, start), execution.end));
}

bool is_told(const CalledApi& call) {
  const auto& table = call.domain == CUPTI_CB_DOMAIN_RUNTIME_API ? enabled().runtime : enabled().driver;
  return call.id < kMostCallbackIds && table[call.id].load(std::memory_order_relaxed);
}

}  // namespace

void record_execution(const Execution& execution) {
  switch (execution.operation.kind) {
    case OperationKind::kKernel:
      if (is_enabled(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)) {
        keep_record(kernel_record(execution, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
      } else if (is_enabled(CUPTI_ACTIVITY_KIND_KERNEL)) {
        keep_record(kernel_record(execution, CUPTI_ACTIVITY_KIND_KERNEL));
      }
      break;
    case OperationKind::kMemcpy:
      if (execution.operation.copy_kind == CUPTI_ACTIVITY_MEMCPY_KIND_PTOP) {
        if (is_enabled(CUPTI_ACTIVITY_KIND_MEMCPY2)) keep_peer_copy(execution);
      } else if (is_enabled(CUPTI_ACTIVITY_KIND_MEMCPY)) {
        keep_copy(execution);
      }
      break;
    case OperationKind::kMemset:
      if (is_enabled(CUPTI_ACTIVITY_KIND_MEMSET)) keep_memset(execution);
      break;
    default:
      break;
  }
}

void record_api_call(const CalledApi& call) {
  if (!enabled().any_api.load(std::memory_order_relaxed) || !is_told(call)) return;
  std::array<Record, CUPTI_EXTERNAL_CORRELATION_KIND_SIZE + 1> records;
  uint32_t count = 0;
  if (is_enabled(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION)) {
    for (uint32_t kind = 0; kind < CUPTI_EXTERNAL_CORRELATION_KIND_SIZE; ++kind) {
      if (external_ids()[kind].empty()) continue;
      CUpti_ActivityExternalCorrelation external{};
      external.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
      external.externalKind = static_cast<CUpti_ExternalCorrelationKind>(kind);
      external.externalId = external_ids()[kind].back();
      external.correlationId = call.correlation;
      records[count++] = record_of(external, 0, 0);
    }
  }
  CUpti_ActivityAPI api{};
  api.kind = call.domain == CUPTI_CB_DOMAIN_RUNTIME_API ? CUPTI_ACTIVITY_KIND_RUNTIME : CUPTI_ACTIVITY_KIND_DRIVER;
  api.cbid = call.id;
  api.start = call.start;
  api.end = call.end;
  api.processId = static_cast<uint32_t>(getpid());
  api.threadId = thread_id();
  api.correlationId = call.correlation;
  api.returnValue = call.result;
  records[count++] = record_of(api, offsetof(CUpti_ActivityAPI, start), 0);
  write_records(records.data(), count);
}

void record_synchronization(const Synchronization& synchronization) {
  if (!is_enabled(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION)) return;
  CUpti_ActivitySynchronization2 record{};
  record.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
  record.type = synchronization.type;
  record.start = synchronization.start;
  record.end = now();
  record.correlationId = synchronization.correlation;
  record.contextId = synchronization.context;
  record.streamId = synchronization.stream;
  record.cudaEventId = synchronization.event;
  write_record(record_of(record, offsetof(CUpti_ActivitySynchronization2, start), 0));
}

void record_flush_overhead(uint64_t start) {
  if (!is_enabled(CUPTI_ACTIVITY_KIND_OVERHEAD)) return;
  CUpti_ActivityOverhead3 record{};
  record.kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
  record.overheadKind = CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH;
  record.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
  record.objectId.pt.processId = static_cast<uint32_t>(getpid());
  record.objectId.pt.threadId = thread_id();
  record.start = start;
  record.end = now();
  write_record(record_of(record, offsetof(CUpti_ActivityOverhead3, start), 0));
}

bool enable_kind(CUpti_ActivityKind kind, bool enable) {
  if (kind <= CUPTI_ACTIVITY_KIND_INVALID || kind >= CUPTI_ACTIVITY_KIND_COUNT) return false;
  enabled().kinds[kind].store(enable);
  // The kind overrides earlier settings for single functions.
  if (kind == CUPTI_ACTIVITY_KIND_RUNTIME || kind == CUPTI_ACTIVITY_KIND_DRIVER) {
    auto& table = kind == CUPTI_ACTIVITY_KIND_RUNTIME ? enabled().runtime : enabled().driver;
    for (auto& function : table) function.store(enable, std::memory_order_relaxed);
    if (enable) enabled().any_api.store(true);
    (kind == CUPTI_ACTIVITY_KIND_RUNTIME ? enabled().singly_runtime : enabled().singly_driver) = false;
  }
  return true;
}

// As the real one does, seen on an H100 with CUPTI of CUDA 13.0.
void enable_api(CUpti_CallbackDomain domain, uint32_t id, bool enable) {
  const bool is_runtime = domain == CUPTI_CB_DOMAIN_RUNTIME_API;
  const bool is_kind_on = is_enabled(is_runtime ? CUPTI_ACTIVITY_KIND_RUNTIME : CUPTI_ACTIVITY_KIND_DRIVER);
  const bool singly = !enabled().any_context || (is_runtime ? enabled().singly_runtime : enabled().singly_driver);
  if (id >= kMostCallbackIds || !(is_kind_on || singly)) return;
  (is_runtime ? enabled().runtime : enabled().driver)[id].store(enable);
  if (enable) enabled().any_api.store(true);
}

void context_is_made() {
  const auto any = [](const auto& table) {
    return std::any_of(table.begin(), table.end(), [](const auto& on) { return on.load(); });
  };
  if (enabled().any_context.exchange(true)) return;
  enabled().singly_runtime = any(enabled().runtime);
  enabled().singly_driver = any(enabled().driver);
}

void disable_all_kinds() {
  for (int kind = 1; kind < CUPTI_ACTIVITY_KIND_COUNT; ++kind) {
    enable_kind(static_cast<CUpti_ActivityKind>(kind), false);
  }
}

size_t record_size(CUpti_ActivityKind kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return sizeof(CUpti_ActivityKernel10);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return sizeof(CUpti_ActivityMemcpy6);
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      return sizeof(CUpti_ActivityMemcpyPtoP4);
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return sizeof(CUpti_ActivityMemset4);
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER:
      return sizeof(CUpti_ActivityAPI);
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
      return sizeof(CUpti_ActivityExternalCorrelation);
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
      return sizeof(CUpti_ActivitySynchronization2);
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
      return sizeof(CUpti_ActivityOverhead3);
    default:
      return 0;
  }
}

bool push_external_id(CUpti_ExternalCorrelationKind kind, uint64_t id) {
  if (kind <= CUPTI_EXTERNAL_CORRELATION_KIND_INVALID || kind >= CUPTI_EXTERNAL_CORRELATION_KIND_SIZE) return false;
  external_ids()[kind].push_back(id);
  return true;
}

Popped pop_external_id(CUpti_ExternalCorrelationKind kind, uint64_t* id) {
  if (kind <= CUPTI_EXTERNAL_CORRELATION_KIND_INVALID || kind >= CUPTI_EXTERNAL_CORRELATION_KIND_SIZE) {
    return Popped::kNoKind;
  }
  auto& stack = external_ids()[kind];
  if (stack.empty()) return Popped::kEmpty;
  if (id != nullptr) *id = stack.back();
  stack.pop_back();
  return Popped::kId;
}

}  // namespace nogpu

CUptiResult cuptiSetThreadIdType(CUpti_ActivityThreadIdType type) {
  if (type < 0 || type >= CUPTI_ACTIVITY_THREAD_ID_TYPE_SIZE) return CUPTI_ERROR_NOT_SUPPORTED;
  nogpu::thread_id_type.store(type);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetThreadIdType(CUpti_ActivityThreadIdType* type) {
  if (type == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *type = nogpu::thread_id_type.load();
  return CUPTI_SUCCESS;
}
