// CUPTI's activity functions: enabling, buffers, flushing, external correlation.
#include <cupti.h>

#include <cstring>
#include <map>
#include <mutex>

#include "activity_buffers.h"
#include "api_call.h"
#include "cupti_records.h"
#include "device.h"
#include "subscriber.h"

namespace {

// Nothing here depends on these values: they are kept so that they can be read back.
struct Attributes {
  std::mutex lock;
  std::map<CUpti_ActivityAttribute, size_t> values;
};

Attributes& attributes() {
  static auto* all = new Attributes;
  return *all;
}

size_t attribute_size(CUpti_ActivityAttribute attribute) {
  switch (attribute) {
    case CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER:
    case CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED:
    case CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER:
      return sizeof(uint8_t);
    default:
      return sizeof(size_t);
  }
}

bool of_devices(CUpti_ActivityKind kind) {
  return kind == CUPTI_ACTIVITY_KIND_KERNEL || kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL ||
         kind == CUPTI_ACTIVITY_KIND_MEMCPY || kind == CUPTI_ACTIVITY_KIND_MEMSET;
}

}  // namespace

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc requested,
                                           CUpti_BuffersCallbackCompleteFunc completed) {
  return nogpu::set_buffer_callbacks(requested, completed) ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  if (of_devices(kind) && !nogpu::has_buffer_callbacks()) return CUPTI_ERROR_INVALID_OPERATION;
  return nogpu::enable_kind(kind, true) ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_KIND;
}

CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) {
  return nogpu::enable_kind(kind, false) ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_KIND;
}

CUptiResult cuptiActivityEnableAndDump(CUpti_ActivityKind kind) { return cuptiActivityEnable(kind); }
CUptiResult cuptiActivityEnableContext(CUcontext, CUpti_ActivityKind kind) { return cuptiActivityEnable(kind); }
CUptiResult cuptiActivityDisableContext(CUcontext, CUpti_ActivityKind kind) { return cuptiActivityDisable(kind); }

CUptiResult cuptiActivityEnableRuntimeApi(CUpti_CallbackId id, uint8_t enable) {
  nogpu::enable_api(CUPTI_CB_DOMAIN_RUNTIME_API, id, enable != 0);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnableDriverApi(CUpti_CallbackId id, uint8_t enable) {
  nogpu::enable_api(CUPTI_CB_DOMAIN_DRIVER_API, id, enable != 0);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid, CUpti_Activity** record) {
  if (buffer == nullptr || record == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  uint8_t* next = buffer;
  if (*record != nullptr) next = reinterpret_cast<uint8_t*>(*record) + nogpu::record_size((*record)->kind);
  if (next >= buffer + valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  auto* found = reinterpret_cast<CUpti_Activity*>(next);
  if (nogpu::record_size(found->kind) == 0) return CUPTI_ERROR_INVALID_KIND;
  *record = found;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityFlushAll(uint32_t flag) {
  if (!nogpu::has_buffer_callbacks()) return CUPTI_ERROR_INVALID_OPERATION;
  nogpu::record_flush_overhead(nogpu::now());
  nogpu::flush_buffers((flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) != 0);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityFlush(CUcontext, uint32_t, uint32_t flag) { return cuptiActivityFlushAll(flag); }

CUptiResult cuptiActivityFlushPeriod(uint32_t milliseconds) {
  nogpu::flush_every(milliseconds);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, uint32_t, size_t* dropped) {
  if (dropped == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *dropped = nogpu::take_dropped_count();
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t id) {
  return nogpu::push_external_id(kind, id) ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t* last) {
  switch (nogpu::pop_external_id(kind, last)) {
    case nogpu::Popped::kId:
      return CUPTI_SUCCESS;
    case nogpu::Popped::kEmpty:
      return CUPTI_ERROR_QUEUE_EMPTY;
    default:
      return CUPTI_ERROR_INVALID_PARAMETER;
  }
}

CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute attribute, size_t* size, void* value) {
  if (size == nullptr || value == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  if (*size < attribute_size(attribute)) return CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT;
  size_t kept = 0;
  std::memcpy(&kept, value, attribute_size(attribute));
  std::lock_guard guard(attributes().lock);
  attributes().values[attribute] = kept;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetAttribute(CUpti_ActivityAttribute attribute, size_t* size, void* value) {
  if (size == nullptr || value == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  if (*size < attribute_size(attribute)) return CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT;
  *size = attribute_size(attribute);
  std::lock_guard guard(attributes().lock);
  std::memcpy(value, &attributes().values[attribute], *size);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc function) {
  if (function == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  nogpu::set_timestamp_callback(function);
  return CUPTI_SUCCESS;
}

// These functions switch on features that no virtual device has.
CUptiResult cuptiActivityEnableCudaEventDeviceTimestamps(uint8_t) { return CUPTI_SUCCESS; }
CUptiResult cuptiActivityEnableLatencyTimestamps(uint8_t) { return CUPTI_SUCCESS; }
CUptiResult cuptiActivityEnableLaunchAttributes(uint8_t) { return CUPTI_SUCCESS; }
CUptiResult cuptiActivityEnableAllSyncRecords(uint8_t) { return CUPTI_SUCCESS; }
CUptiResult cuptiActivityEnableHWTrace(uint8_t) { return CUPTI_ERROR_NOT_SUPPORTED; }
