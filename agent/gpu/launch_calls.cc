#include "agent/gpu/launch_calls.h"

#include <array>
#include <atomic>

#include "agent/gpu/captures.h"
#include "agent/gpu/event_timing.h"
#include "agent/imports/imports.h"

namespace castscope::gpu {
namespace {

using cudart::Dim3;
using cudart::Error;
using cudart::Stream;

std::atomic<imports::Imports*> g_launches_taken{nullptr};
std::atomic<EventTiming*> g_events{nullptr};  // set before a cast has a ticket

enum LaunchFunction { kLaunch, kLaunchByHandle, kLaunchEx, kLaunchFunctions };
extern std::array<imports::Import, kLaunchFunctions> g_launch_imports;

template <typename F>
F* original_launch(LaunchFunction function) {
  return reinterpret_cast<F*>(imports::original_of(g_launch_imports[function]));
}

// While any thread captures a graph, calls that are not the job's might end the capture with an error.
template <typename Launch>
[[gnu::noinline]] Error launch_timed(Stream stream, std::uint64_t ticket, Launch launch) {
  EventTiming& events = *g_events.load(std::memory_order_acquire);
  EventPair* const pair = is_capturing() || !events.on() ? nullptr : events.before(stream, ticket);
  const Error result = launch();
  events.after(pair, result == cudart::kSuccess);
  return result;
}

template <typename Launch>
Error launch_one(Stream stream, Launch launch) {
  const std::uint64_t ticket = present_cast();
  return ticket == 0 ? launch() : launch_timed(stream, ticket, launch);
}

Error launch_kernel(const void* function, Dim3 grid, Dim3 block, void** arguments, std::size_t shared, Stream stream) {
  return launch_one(stream, [=] {
    return original_launch<cudart::LaunchKernel>(kLaunch)(function, grid, block, arguments, shared, stream);
  });
}

Error launch_by_handle(cudart::Kernel kernel, Dim3 grid, Dim3 block, void** arguments, std::size_t shared,
                       Stream stream) {
  return launch_one(stream, [=] {
    return original_launch<cudart::LaunchKernelByHandle>(kLaunchByHandle)(kernel, grid, block, arguments, shared,
                                                                          stream);
  });
}

Error launch_ex(const cudart::LaunchConfig* config, const void* function, void** arguments) {
  const auto launch = [=] { return original_launch<cudart::LaunchKernelEx>(kLaunchEx)(config, function, arguments); };
  return config == nullptr ? launch() : launch_one(config->stream, launch);
}

std::array<imports::Import, kLaunchFunctions> g_launch_imports{{
    {"cudaLaunchKernel", reinterpret_cast<void*>(launch_kernel)},
    {"__cudaLaunchKernel", reinterpret_cast<void*>(launch_by_handle)},
    {"cudaLaunchKernelExC", reinterpret_cast<void*>(launch_ex)},
}};

// Finds the functions of the libcudart that PyTorch calls; we do not load one.
bool find_cudart(Cudart* cudart) {
  const void* launch = nullptr;
  for (const imports::Import& import : g_launch_imports)
    if (launch == nullptr) launch = imports::original_of(import);
  if (launch == nullptr) return false;
#define CASTSCOPE_FIND(name, signature, member)                                                   \
  cudart->member = reinterpret_cast<cudart::signature*>(imports::function_beside(launch, #name)); \
  if (cudart->member == nullptr) return false;
  CASTSCOPE_CUDART_FUNCTIONS(CASTSCOPE_FIND)
#undef CASTSCOPE_FIND
  return true;
}

}  // namespace

EventTiming* watch_launches() {
  static auto* taken = new imports::Imports(g_launch_imports);  // never given back: a call may be on its way
  g_launches_taken = taken;
  taken->take();
  if (EventTiming* events = g_events.load()) return events;
  Cudart cudart;
  if (!find_cudart(&cudart)) return nullptr;
  auto* events = new EventTiming(cudart);
  g_events.store(events, std::memory_order_release);
  return events;
}

void hold_launches() {
  if (imports::Imports* taken = g_launches_taken.load()) taken->hold();
}
void release_launches() {
  if (imports::Imports* taken = g_launches_taken.load()) taken->release();
}

}  // namespace castscope::gpu
