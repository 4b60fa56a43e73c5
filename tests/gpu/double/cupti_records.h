// What is told of operations and calls, as the newest of CUPTI's structs, to who enabled the kind.
#pragma once

#include <cupti.h>

#include <cstdint>

#include "device.h"

namespace nogpu {

struct CalledApi {
  CUpti_CallbackDomain domain;
  uint32_t id;
  uint32_t correlation;
  uint32_t result;
  uint64_t start, end;
};

struct Synchronization {
  CUpti_ActivitySynchronizationType type;
  uint64_t start;
  uint32_t correlation;
  uint32_t context;
  uint32_t stream;  // CUPTI_SYNCHRONIZATION_INVALID_VALUE where it is of no stream
  uint32_t event;
};

void record_execution(const Execution& execution);
void record_api_call(const CalledApi& call);
void record_synchronization(const Synchronization& synchronization);
void record_flush_overhead(uint64_t start);

bool enable_kind(CUpti_ActivityKind kind, bool enable);
void enable_api(CUpti_CallbackDomain domain, uint32_t id, bool enable);
void disable_all_kinds();
// How many bytes a record of this kind takes; 0 if it is none of ours.
size_t record_size(CUpti_ActivityKind kind);

bool push_external_id(CUpti_ExternalCorrelationKind kind, uint64_t id);
enum class Popped { kId, kNoKind, kEmpty };
Popped pop_external_id(CUpti_ExternalCorrelationKind kind, uint64_t* id);

}  // namespace nogpu
