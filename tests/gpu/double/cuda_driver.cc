// The driver's double: the functions that PyTorch and Triton call by themselves. Kernels are known by their names.
#include <cuda.h>
#include <cupti.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "api_call.h"
#include "device.h"
#include "device_limits.h"

using namespace nogpu;

namespace {

CUcontext handle_of(Context* context) { return reinterpret_cast<CUcontext>(context); }

CUcontext& current_context() {
  thread_local CUcontext context = nullptr;
  return context;
}

struct Launch {
  std::array<uint32_t, 3> grid, block;
  uint32_t shared;
};

// The handle of a function is its interned name.
CUresult launch(ApiCall& call, CUfunction function, const Launch& how, CUstream stream) {
  Operation kernel;
  kernel.name = reinterpret_cast<const char*>(function);
  kernel.grid = how.grid;
  kernel.block = how.block;
  kernel.shared_bytes = how.shared;
  kernel.duration = kernel_duration(kernel.name, uint64_t{how.grid[0]} * how.grid[1] * how.grid[2]);
  submit(stream_of(stream), std::move(kernel), call.correlation(), call.name());
  return call.returns(CUDA_SUCCESS);
}

}  // namespace

CUresult cuInit(unsigned) { return device_count() == 0 ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS; }

CUresult cuDriverGetVersion(int* version) {
  *version = CUDA_VERSION;
  return CUDA_SUCCESS;
}

CUresult cuGetErrorString(CUresult error, const char** text) {
  *text = error == CUDA_SUCCESS ? "no error" : "an error of the double of the GPU stack";
  return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult error, const char** text) { return cuGetErrorString(error, text); }

CUresult cuGetProcAddress_v2(const char*, void** function, int, cuuint64_t, CUdriverProcAddressQueryResult* status) {
  *function = nullptr;
  if (status != nullptr) *status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  return CUDA_ERROR_NOT_FOUND;
}

CUresult cuDeviceGetCount(int* count) {
  *count = device_count();
  return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  if (ordinal < 0 || ordinal >= device_count()) return CUDA_ERROR_INVALID_DEVICE;
  *device = ordinal;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char* name, int length, CUdevice) {
  std::strncpy(name, kDeviceName, static_cast<size_t>(std::max(length, 1)) - 1);
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice) {
  *value = device_attribute(attribute);
  return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice) {
  *bytes = kDeviceMemory;
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
  const ApiCall call(CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxGetState);
  if (flags != nullptr) *flags = 0;
  *active = has_context(device) ? 1 : 0;
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  *context = handle_of(context_of(device));
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice) { return CUDA_SUCCESS; }

// A thread that set no context gets that of its device once there is one, as the runtime would set it.
CUresult cuCtxGetCurrent(CUcontext* context) {
  const ApiCall call(CUPTI_DRIVER_TRACE_CBID_cuCtxGetCurrent);
  *context = current_context();
  if (*context == nullptr && has_context(current_device())) *context = handle_of(context_of(current_device()));
  return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext context) {
  current_context() = context;
  if (context != nullptr) current_device() = reinterpret_cast<Context*>(context)->device;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice* device) {
  *device = current_device();
  return CUDA_SUCCESS;
}

CUresult cuCtxGetLimit(size_t* value, CUlimit) {
  *value = 0;
  return CUDA_SUCCESS;
}

CUresult cuCtxSetLimit(CUlimit, size_t) { return CUDA_SUCCESS; }

CUresult cuPointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr pointer) {
  if (attribute == CU_POINTER_ATTRIBUTE_DEVICE_POINTER) {
    *static_cast<CUdeviceptr*>(data) = pointer;
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

// Code is accepted as it is; its contents do not matter.
CUresult cuModuleLoadData(CUmodule* module, const void*) {
  const ApiCall call(CUPTI_DRIVER_TRACE_CBID_cuModuleLoadData);
  *module = reinterpret_cast<CUmodule>(new char);
  return CUDA_SUCCESS;
}

CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned, CUjit_option*, void**) {
  return cuModuleLoadData(module, image);
}

CUresult cuModuleLoad(CUmodule* module, const char*) { return cuModuleLoadData(module, nullptr); }

CUresult cuModuleUnload(CUmodule module) {
  delete reinterpret_cast<char*>(module);
  return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction* function, CUmodule, const char* name) {
  *function = reinterpret_cast<CUfunction>(const_cast<char*>(interned(name)));
  return CUDA_SUCCESS;
}

CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction) {
  *value = attribute == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? kThreadsOfBlock
           : attribute == CU_FUNC_ATTRIBUTE_NUM_REGS            ? 32
                                                                : 0;
  return CUDA_SUCCESS;
}

CUresult cuFuncSetAttribute(CUfunction, CUfunction_attribute, int) { return CUDA_SUCCESS; }
CUresult cuFuncSetCacheConfig(CUfunction, CUfunc_cache) { return CUDA_SUCCESS; }

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction, int threads, size_t) {
  *blocks = std::clamp(kThreadsOfMultiprocessor / std::max(threads, 1), 1, kBlocksOfMultiprocessor);
  return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveClusters(int* clusters, CUfunction, const CUlaunchConfig*) {
  *clusters = kMultiprocessors;
  return CUDA_SUCCESS;
}

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                        unsigned block_y, unsigned block_z, unsigned shared, CUstream stream, void** arguments,
                        void** extra) {
  const cuLaunchKernel_params params{function, grid_x, grid_y, grid_z,    block_x, block_y,
                                     block_z,  shared, stream, arguments, extra};
  ApiCall call(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, &params, reinterpret_cast<const char*>(function));
  return launch(call, function, {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared}, stream);
}

CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                                   CUstream stream, void**) {
  ApiCall call(CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel, nullptr, reinterpret_cast<const char*>(function));
  return launch(call, function, {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared}, stream);
}

CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** arguments, void** extra) {
  const cuLaunchKernelEx_params params{config, function, arguments, extra};
  ApiCall call(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx, &params, reinterpret_cast<const char*>(function));
  const Launch how{{config->gridDimX, config->gridDimY, config->gridDimZ},
                   {config->blockDimX, config->blockDimY, config->blockDimZ},
                   config->sharedMemBytes};
  return launch(call, function, how, config->hStream);
}

// Linking at run time and tensor maps are not supported.
CUresult cuLinkCreate_v2(unsigned, CUjit_option*, void**, CUlinkState*) { return CUDA_ERROR_NOT_SUPPORTED; }
CUresult cuLinkAddData_v2(CUlinkState, CUjitInputType, void*, size_t, const char*, unsigned, CUjit_option*, void**) {
  return CUDA_ERROR_NOT_SUPPORTED;
}
CUresult cuLinkComplete(CUlinkState, void**, size_t*) { return CUDA_ERROR_NOT_SUPPORTED; }
CUresult cuTensorMapEncodeTiled(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*,
                                const cuuint64_t*, const cuuint32_t*, const cuuint32_t*, CUtensorMapInterleave,
                                CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
  return CUDA_ERROR_NOT_SUPPORTED;
}
