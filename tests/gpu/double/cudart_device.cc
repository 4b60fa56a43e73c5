// The runtime's double: devices, their properties, errors, versions.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

#include "cudart_state.h"
#include "cupti_records.h"
#include "device_limits.h"

namespace nogpu {

cudaError_t& last_error() {
  thread_local cudaError_t error = cudaSuccess;
  return error;
}

cudaError_t done(ApiCall& call, cudaError_t result) {
  if (result != cudaSuccess) last_error() = result;
  return call.returns(result);
}

}  // namespace nogpu

using namespace nogpu;

namespace {

constexpr int kVersion = CUDART_VERSION;
struct ErrorName {
  cudaError_t error;
  const char *name, *text;
};

constexpr ErrorName kErrors[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
    {cudaErrorInvalidDeviceFunction, "cudaErrorInvalidDeviceFunction", "invalid device function"},
    {cudaErrorPeerAccessAlreadyEnabled, "cudaErrorPeerAccessAlreadyEnabled", "peer access is already enabled"},
    {cudaErrorStreamCaptureUnsupported, "cudaErrorStreamCaptureUnsupported",
     "operation not permitted when stream is capturing"},
    {cudaErrorStreamCaptureInvalidated, "cudaErrorStreamCaptureInvalidated", "capturing was invalidated"},
    {cudaErrorIllegalState, "cudaErrorIllegalState", "the operation cannot be performed in the present state"},
};

const ErrorName& named(cudaError_t error) {
  static constexpr ErrorName unknown = {cudaErrorUnknown, "cudaErrorUnknown", "unknown error"};
  const auto* found = std::find_if(std::begin(kErrors), std::end(kErrors),
                                   [error](const ErrorName& entry) { return entry.error == error; });
  return found == std::end(kErrors) ? unknown : *found;
}

void fill_limits(cudaDeviceProp* prop) {
  prop->warpSize = 32;
  prop->maxThreadsPerBlock = kThreadsOfBlock;
  prop->maxThreadsDim[0] = prop->maxThreadsDim[1] = 1024;
  prop->maxThreadsDim[2] = 64;
  prop->maxGridSize[0] = kGridX;
  prop->maxGridSize[1] = prop->maxGridSize[2] = kGridYZ;
  prop->regsPerBlock = prop->regsPerMultiprocessor = kRegisters;
  prop->multiProcessorCount = kMultiprocessors;
  prop->maxThreadsPerMultiProcessor = kThreadsOfMultiprocessor;
  prop->maxBlocksPerMultiProcessor = kBlocksOfMultiprocessor;
  prop->sharedMemPerBlock = kSharedOfBlock;
  prop->sharedMemPerBlockOptin = kSharedOptIn;
  prop->sharedMemPerMultiprocessor = kSharedOfMultiprocessor;
  prop->reservedSharedMemPerBlock = 1024;
  prop->memPitch = 0x7fffffff;
  prop->totalConstMem = 65536;
  prop->textureAlignment = 512;
  prop->texturePitchAlignment = 32;
}

}  // namespace

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* prop, int device) {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaGetDeviceProperties_v12000);
  if (device < 0 || device >= device_count()) return done(call, cudaErrorInvalidDevice);
  *prop = cudaDeviceProp{};
  std::snprintf(prop->name, sizeof prop->name, "%s", kDeviceName);
  std::memset(prop->uuid.bytes, device + 1, sizeof prop->uuid.bytes);
  fill_limits(prop);
  prop->totalGlobalMem = kDeviceMemory;
  prop->major = 9;
  prop->minor = 0;
  prop->pciBusID = device + 1;
  prop->canMapHostMemory = prop->unifiedAddressing = prop->concurrentKernels = 1;
  prop->asyncEngineCount = 3;
  prop->memoryBusWidth = 5120;
  prop->l2CacheSize = kCacheSize;
  prop->streamPrioritiesSupported = prop->globalL1CacheSupported = prop->localL1CacheSupported = 1;
  prop->managedMemory = prop->concurrentManagedAccess = prop->computePreemptionSupported = 1;
  prop->cooperativeLaunch = prop->memoryPoolsSupported = prop->hostRegisterSupported = 1;
  prop->clusterLaunch = 1;
  return done(call);
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaDeviceGetAttribute_v5000);
  if (device < 0 || device >= device_count()) return done(call, cudaErrorInvalidDevice);
  *value = device_attribute(attribute);
  return done(call);
}

cudaError_t cudaGetDeviceCount(int* count) {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaGetDeviceCount_v3020);
  *count = device_count();
  return done(call, *count == 0 ? cudaErrorNoDevice : cudaSuccess);
}

cudaError_t cudaGetDevice(int* device) {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaGetDevice_v3020);
  *device = current_device();
  return done(call);
}

cudaError_t cudaSetDevice(int device) {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaSetDevice_v3020);
  if (device < 0 || device >= device_count()) return done(call, cudaErrorInvalidDevice);
  current_device() = device;
  // Since CUDA 12 this call makes the context.
  context_of(device);
  return done(call);
}

cudaError_t cudaDeviceSynchronize() {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaDeviceSynchronize_v3020);
  wait_until(end_of_device(current_device()));
  record_synchronization({CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE, call.start(), call.correlation(),
                          context_of(current_device())->id, CUPTI_SYNCHRONIZATION_INVALID_VALUE,
                          CUPTI_SYNCHRONIZATION_INVALID_VALUE});
  return done(call);
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaDeviceGetStreamPriorityRange_v5050);
  if (least != nullptr) *least = 0;
  if (greatest != nullptr) *greatest = -5;
  return done(call);
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device) {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaDeviceGetPCIBusId_v4010);
  std::snprintf(text, static_cast<size_t>(length), "0000:%02x:00.0", device + 1);
  return done(call);
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaDeviceCanAccessPeer_v4000);
  *can = device != peer;
  return done(call);
}

cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaDeviceEnablePeerAccess_v4000);
  return done(call);
}

cudaError_t cudaDriverGetVersion(int* version) {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaDriverGetVersion_v3020);
  *version = kVersion;
  return done(call);
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaRuntimeGetVersion_v3020);
  *version = kVersion;
  return done(call);
}

// These four are not traced.
cudaError_t cudaGetLastError() { return std::exchange(last_error(), cudaSuccess); }
cudaError_t cudaPeekAtLastError() { return last_error(); }
const char* cudaGetErrorName(cudaError_t error) { return named(error).name; }
const char* cudaGetErrorString(cudaError_t error) { return named(error).text; }

cudaError_t cudaProfilerStart() {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaProfilerStart_v4000);
  return done(call);
}

cudaError_t cudaProfilerStop() {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaProfilerStop_v4000);
  return done(call);
}

cudaError_t cudaGetDriverEntryPointByVersion(const char*, void** function, unsigned, unsigned long long,
                                             cudaDriverEntryPointQueryResult* status) {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaGetDriverEntryPointByVersion_v12050);
  *function = nullptr;
  if (status != nullptr) *status = cudaDriverEntryPointSymbolNotFound;
  return done(call);
}
