// CUPTI's smaller functions: names, ids, times, and the end.
#include <cupti.h>

#include "activity_buffers.h"
#include "api_call.h"
#include "cupti_records.h"
#include "device.h"
#include "graph.h"
#include "subscriber.h"

namespace {

struct ResultName {
  CUptiResult result;
  const char* name;
};

// The build makes this list from CUPTI's list of results.
constexpr ResultName kResultNames[] = {
#include "result_names.inc"
};

}  // namespace

CUptiResult cuptiGetVersion(uint32_t* version) {
  if (version == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *version = CUPTI_API_VERSION;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetResultString(CUptiResult result, const char** text) {
  if (text == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  for (const ResultName& entry : kResultNames) {
    if (entry.result != result) continue;
    *text = entry.name;
    return CUPTI_SUCCESS;
  }
  return CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult cuptiGetErrorMessage(CUptiResult result, const char** text) { return cuptiGetResultString(result, text); }
CUptiResult cuptiGetLastError() { return CUPTI_SUCCESS; }

CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t id, const char** name) {
  if (name == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *name = nogpu::callback_name(domain, id);
  return *name == nullptr ? CUPTI_ERROR_INVALID_PARAMETER : CUPTI_SUCCESS;
}

CUptiResult cuptiGetTimestamp(uint64_t* timestamp) {
  if (timestamp == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *timestamp = nogpu::client_now();
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetContextId(CUcontext context, uint32_t* id) {
  if (context == nullptr || id == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *id = reinterpret_cast<nogpu::Context*>(context)->id;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetDeviceId(CUcontext context, uint32_t* device) {
  if (device == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  if (context == nullptr && !nogpu::has_context(nogpu::current_device())) return CUPTI_ERROR_INVALID_CONTEXT;
  *device = static_cast<uint32_t>(context == nullptr ? nogpu::current_device()
                                                     : reinterpret_cast<nogpu::Context*>(context)->device);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetStreamIdEx(CUcontext, CUstream stream, uint8_t per_thread, uint32_t* id) {
  if (id == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  const bool own = per_thread != 0 && stream == nullptr;
  *id = nogpu::stream_of(own ? reinterpret_cast<void*>(2) : stream)->id;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetStreamId(CUcontext context, CUstream stream, uint32_t* id) {
  return cuptiGetStreamIdEx(context, stream, 0, id);
}

CUptiResult cuptiGetGraphNodeId(CUgraphNode node, uint64_t* id) {
  if (node == nullptr || id == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *id = reinterpret_cast<nogpu::GraphNode*>(node)->id;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetGraphId(CUgraph graph, uint32_t* id) {
  if (graph == nullptr || id == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *id = reinterpret_cast<nogpu::Graph*>(graph)->id;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetGraphExecId(CUgraphExec exec, uint32_t* id) {
  if (exec == nullptr || id == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *id = reinterpret_cast<nogpu::GraphExec*>(exec)->id;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiDeviceSupported(CUdevice, int* supported) {
  if (supported == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *supported = 1;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiFinalize() {
  nogpu::flush_buffers(true);
  nogpu::disable_all_kinds();
  nogpu::clear_seat();
  nogpu::clear_buffer_callbacks();
  return CUPTI_SUCCESS;
}
