// The runtime's double: memory pools, which hold nothing back, and memory of other processes, which is refused.
#include "cudart_state.h"

using namespace nogpu;

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaDeviceGetDefaultMemPool_v11020);
  *pool = reinterpret_cast<cudaMemPool_t>(static_cast<uintptr_t>(device) + 1);
  return done(call);
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaMemPoolSetAttribute_v11020);
  return done(call);
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaMemPoolGetAttribute_v11020);
  const int device = static_cast<int>(reinterpret_cast<uintptr_t>(pool)) - 1;
  const bool is_flag = attribute == cudaMemPoolReuseFollowEventDependencies ||
                       attribute == cudaMemPoolReuseAllowOpportunistic ||
                       attribute == cudaMemPoolReuseAllowInternalDependencies;
  if (is_flag) {
    *static_cast<int*>(value) = 1;
  } else {
    *static_cast<uint64_t*>(value) = attribute == cudaMemPoolAttrReleaseThreshold ? 0 : memory_in_use(device);
  }
  return done(call);
}

cudaError_t cudaMemPoolSetAccess(cudaMemPool_t, const cudaMemAccessDesc*, size_t) {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaMemPoolSetAccess_v11020);
  return done(call);
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, size_t) {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaMemPoolTrimTo_v11020);
  return done(call);
}

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t*, void*) {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaIpcGetMemHandle_v4010);
  return done(call, cudaErrorNotSupported);
}

cudaError_t cudaIpcOpenMemHandle(void**, cudaIpcMemHandle_t, unsigned) {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaIpcOpenMemHandle_v4010);
  return done(call, cudaErrorNotSupported);
}

cudaError_t cudaIpcCloseMemHandle(void*) {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaIpcCloseMemHandle_v4010);
  return done(call, cudaErrorNotSupported);
}

cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t*, cudaEvent_t) {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaIpcGetEventHandle_v4010);
  return done(call, cudaErrorNotSupported);
}

cudaError_t cudaIpcOpenEventHandle(cudaEvent_t*, cudaIpcEventHandle_t) {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaIpcOpenEventHandle_v4010);
  return done(call, cudaErrorNotSupported);
}
