// The runtime's double: kernels by their address in the program, and their launches.
#include <algorithm>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cudart_state.h"

namespace nogpu {
namespace {

struct Variable {
  size_t size = 0;
  void* memory = nullptr;
};

struct Program {
  std::mutex lock;
  // The names belong to the program and live as long as it does.
  std::unordered_map<const void*, const char*> kernels;
  std::unordered_map<const void*, Variable> variables;
};

Program& program() {
  static auto* all = new Program;
  return *all;
}

struct Configuration {
  dim3 grid, block;
  size_t shared;
  cudaStream_t stream;
};

std::vector<Configuration>& configurations() {
  thread_local std::vector<Configuration> pushed;
  return pushed;
}

uint64_t blocks_of(dim3 grid) { return uint64_t{grid.x} * grid.y * grid.z; }

void launch(const ApiCall& call, const char* name, const Configuration& how) {
  Operation kernel;
  kernel.name = name;
  kernel.grid = {how.grid.x, how.grid.y, how.grid.z};
  kernel.block = {how.block.x, how.block.y, how.block.z};
  kernel.shared_bytes = static_cast<uint32_t>(how.shared);
  kernel.duration = kernel_duration(name, blocks_of(how.grid));
  submit(stream_of(how.stream), std::move(kernel), call.correlation(), call.name());
}

}  // namespace

const char* kernel_name(const void* function) {
  std::lock_guard guard(program().lock);
  auto found = program().kernels.find(function);
  return found == program().kernels.end() ? nullptr : found->second;
}

Memory variable_of(const void* symbol) {
  std::lock_guard guard(program().lock);
  auto found = program().variables.find(symbol);
  if (found == program().variables.end()) return {};
  Variable& variable = found->second;
  if (variable.memory == nullptr) variable.memory = allocate(MemoryPlace::kDevice, variable.size);
  return {MemoryPlace::kDevice, current_device(), static_cast<char*>(variable.memory), variable.size};
}

}  // namespace nogpu

using namespace nogpu;

extern "C" {

void** __cudaRegisterFatBinary(void* binary) { return new void*(binary); }
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void** handle) { delete handle; }
char __cudaInitModule(void**) { return 1; }

void __cudaRegisterFunction(void**, const char* function, char*, const char* name, int, uint3*, uint3*, dim3*, dim3*,
                            int*) {
  std::lock_guard guard(program().lock);
  program().kernels[function] = name;
}

void __cudaRegisterVar(void**, char* variable, char*, const char*, int, size_t size, int, int) {
  std::lock_guard guard(program().lock);
  program().variables[variable] = {size, nullptr};
}

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, void* stream) {
  configurations().push_back({grid, block, shared, static_cast<cudaStream_t>(stream)});
  return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* stream) {
  if (configurations().empty()) return last_error() = cudaErrorMissingConfiguration;
  const Configuration top = configurations().back();
  configurations().pop_back();
  *grid = top.grid;
  *block = top.block;
  *shared = top.shared;
  *static_cast<cudaStream_t*>(stream) = top.stream;
  return cudaSuccess;
}

// The handle of a kernel is its address in the program.
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* function) {
  *kernel = reinterpret_cast<cudaKernel_t>(const_cast<void*>(function));
  return cudaSuccess;
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, size_t shared,
                               cudaStream_t stream) {
  return cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);
}

}  // extern "C"

cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared,
                             cudaStream_t stream) {
  const char* name = kernel_name(function);
  const cudaLaunchKernel_v7000_params params{function, grid, block, arguments, shared, stream};
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, &params, name);
  if (name == nullptr) return done(call, cudaErrorInvalidDeviceFunction);
  launch(call, name, {grid, block, shared, stream});
  return done(call);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function, void** arguments) {
  const char* name = kernel_name(function);
  const cudaLaunchKernelExC_v11060_params params{config, function, arguments};
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_v11060, &params, name);
  if (name == nullptr) return done(call, cudaErrorInvalidDeviceFunction);
  launch(call, name, {config->gridDim, config->blockDim, config->dynamicSmemBytes, config->stream});
  return done(call);
}

cudaError_t cudaGetSymbolAddress(void** address, const void* symbol) {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaGetSymbolAddress_v3020);
  *address = variable_of(symbol).start;
  return done(call, *address == nullptr ? cudaErrorInvalidSymbol : cudaSuccess);
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* function) {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaFuncGetAttributes_v3020);
  *attributes = {};
  attributes->maxThreadsPerBlock = kThreadsOfBlock;
  attributes->numRegs = 32;
  attributes->ptxVersion = attributes->binaryVersion = 90;
  attributes->maxDynamicSharedSizeBytes = kSharedOptIn;
  return done(call, kernel_name(function) == nullptr ? cudaErrorInvalidDeviceFunction : cudaSuccess);
}

cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute, int) {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaFuncSetAttribute_v9000);
  return done(call);
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void*, int threads, size_t,
                                                                   unsigned) {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags_v7000);
  *blocks = std::clamp(kThreadsOfMultiprocessor / std::max(threads, 1), 1, kBlocksOfMultiprocessor);
  return done(call);
}

// Code that is compiled at run time is loaded, but the names of its kernels cannot be found in it.
cudaError_t cudaLibraryLoadData(cudaLibrary_t* library, const void*, cudaJitOption*, void**, unsigned,
                                cudaLibraryOption*, void**, unsigned) {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaLibraryLoadData_v12060);
  *library = reinterpret_cast<cudaLibrary_t>(new char);
  return done(call);
}

cudaError_t cudaLibraryGetKernel(cudaKernel_t* kernel, cudaLibrary_t, const char* name) {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaLibraryGetKernel_v12060);
  const char* kept = interned(name);
  std::lock_guard guard(program().lock);
  program().kernels[kept] = kept;
  *kernel = reinterpret_cast<cudaKernel_t>(const_cast<char*>(kept));
  return done(call);
}

cudaError_t cudaLibraryUnload(cudaLibrary_t library) {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaLibraryUnload_v12060);
  delete reinterpret_cast<char*>(library);
  return done(call);
}

cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t, cudaFuncAttribute, int, int) {
  ApiCall call(CUPTI_RUNTIME_TRACE_CBID_cudaKernelSetAttributeForDevice_v12060);
  return done(call);
}
