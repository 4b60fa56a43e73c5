// Records of operations and calls, in the newest of CUPTI's structs, for clients that have enabled the kind.
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
  uint32_t stream;  // CUPTI_SYNCHRONIZATION_INVALID_VALUE if not about a stream
  uint32_t event;
};

void record_execution(const Execution& execution);
void record_api_call(const CalledApi& call);
void record_synchronization(const Synchronization& synchronization);
void record_flush_overhead(uint64_t start);

bool enable_kind(CUpti_ActivityKind kind, bool enable);
void enable_api(CUpti_CallbackDomain domain, uint32_t id, bool enable);
// The first context of the process is made.
void context_is_made();
void disable_all_kinds();
// Returns the size of a record of this kind in bytes; 0 for kinds that the double does not make.
size_t record_size(CUpti_ActivityKind kind);

bool push_external_id(CUpti_ExternalCorrelationKind kind, uint64_t id);
enum class Popped { kId, kNoKind, kEmpty };
Popped pop_external_id(CUpti_ExternalCorrelationKind kind, uint64_t* id);

}  // namespace nogpu
