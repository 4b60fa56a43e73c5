#include "agent/gpu/first_context.h"

#include <array>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <string>

#include "agent/gpu/cudart_abi.h"
#include "agent/gpu/cupti/cupti.h"
#include "agent/gpu/cupti/job_cupti.h"
#include "agent/imports/imports.h"

namespace castscope::gpu {
namespace {

using cudart::Dim3;
using cudart::Error;
using cudart::Stream;

// kRecording: functions are recorded, and there is no context yet. kMade: the context was made meanwhile.
enum class State { kWaiting, kChoosing, kRecording, kMade, kNotChosen };
std::atomic<State> g_state{State::kNotChosen};
cupti::Library g_library;  // set before kRecording
std::atomic<imports::Imports*> g_context_watch{nullptr};

enum ContextFunction { kDevices, kFirstLaunch, kFirstByHandle, kFirstEx, kFirstCopy, kFirstSet, kContextFunctions };
extern std::array<imports::Import, kContextFunctions> g_context_imports;

template <typename F>
F* original_call(ContextFunction function) {
  return reinterpret_cast<F*>(imports::original_of(g_context_imports[function]));
}

bool any_context(int devices) {
  constexpr std::array kNames{"cuDevicePrimaryCtxGetState"};
  std::array<void*, 1> found{};
  if (!imports::functions_of("libcuda.so", kNames, found) || found[0] == nullptr) return true;
  const auto state_of = reinterpret_cast<int (*)(int device, unsigned* flags, int* active)>(found[0]);
  for (int device = 0; device < devices; ++device) {
    unsigned flags = 0;
    int active = 0;
    if (state_of(device, &flags, &active) != 0 || active != 0) return true;
  }
  return false;
}

// A profiler from outside (Nsight) is loaded into the process by the driver, and has CUPTI's seat.
bool is_profiled_from_outside() { return std::getenv("CUDA_INJECTION64_PATH") != nullptr; }

bool choose(int devices) {
  std::string why;
  return !is_profiled_from_outside() && !job_client().has_recorded() && !any_context(devices) &&
         cupti::find_library(&g_library, &why) && cupti::record_launching(g_library.api, true);
}

void devices_are_asked_for(int devices) noexcept try {
  State waiting = State::kWaiting;
  if (!g_state.compare_exchange_strong(waiting, State::kChoosing)) return;
  g_state = choose(devices) ? State::kRecording : State::kNotChosen;
} catch (const std::exception&) {  // no memory
  g_state = State::kNotChosen;
}

// The job's own client has switched kinds on since, and single functions are its own affair.
void context_is_made() noexcept {
  State recording = State::kRecording;
  if (!g_state.compare_exchange_strong(recording, State::kMade)) return;
  if (!job_client().has_recorded()) cupti::record_launching(g_library.api, false);
  if (imports::Imports* taken = g_context_watch.load()) taken->give_back();
}

Error launched(Error error) {
  if (g_state.load(std::memory_order_relaxed) == State::kRecording) context_is_made();
  return error;
}

Error get_device_count(int* count) {
  const Error error = original_call<cudart::GetDeviceCount>(kDevices)(count);
  if (error == cudart::kSuccess && *count > 0) devices_are_asked_for(*count);
  return error;
}

Error kernel_launched(const void* function, Dim3 grid, Dim3 block, void** arguments, std::size_t shared,
                      Stream stream) {
  return launched(original_call<cudart::LaunchKernel>(kFirstLaunch)(function, grid, block, arguments, shared, stream));
}

Error launched_by_handle(cudart::Kernel kernel, Dim3 grid, Dim3 block, void** arguments, std::size_t shared,
                         Stream stream) {
  return launched(
      original_call<cudart::LaunchKernelByHandle>(kFirstByHandle)(kernel, grid, block, arguments, shared, stream));
}

Error launched_ex(const cudart::LaunchConfig* config, const void* function, void** arguments) {
  return launched(original_call<cudart::LaunchKernelEx>(kFirstEx)(config, function, arguments));
}

Error copied(void* to, const void* from, std::size_t bytes, int direction, Stream stream) {
  return launched(original_call<cudart::MemcpyAsync>(kFirstCopy)(to, from, bytes, direction, stream));
}

Error set_memory(void* at, int value, std::size_t bytes, Stream stream) {
  return launched(original_call<cudart::MemsetAsync>(kFirstSet)(at, value, bytes, stream));
}

std::array<imports::Import, kContextFunctions> g_context_imports{{
    {"cudaGetDeviceCount", reinterpret_cast<void*>(get_device_count)},
    {"cudaLaunchKernel", reinterpret_cast<void*>(kernel_launched)},
    {"__cudaLaunchKernel", reinterpret_cast<void*>(launched_by_handle)},
    {"cudaLaunchKernelExC", reinterpret_cast<void*>(launched_ex)},
    {"cudaMemcpyAsync", reinterpret_cast<void*>(copied)},
    {"cudaMemsetAsync", reinterpret_cast<void*>(set_memory)},
}};

}  // namespace

void watch_first_context() {
  static auto* taken = new imports::Imports(g_context_imports);  // never deleted: a call may be on its way
  g_context_watch = taken;
  g_state = State::kWaiting;
  taken->take();
}

bool stop_watching_first_context() {
  context_is_made();
  State waiting = State::kWaiting;
  if (g_state.compare_exchange_strong(waiting, State::kNotChosen))
    if (imports::Imports* taken = g_context_watch.load()) taken->give_back();
  return g_state == State::kMade;
}

void hold_first_context() {
  if (imports::Imports* taken = g_context_watch.load()) taken->hold();
}
void release_first_context() {
  if (imports::Imports* taken = g_context_watch.load()) taken->release();
}

}  // namespace castscope::gpu
