// cached_cast while a policy is enforced: castscope casts, and records it as it records PyTorch's casts.
#include <atomic>

#include "agent/casts/cached_cast.h"
#include "agent/enforce/cast_argument.h"
#include "agent/enforce/casting.h"
#include "agent/enforce/hooks.h"

namespace castscope::enforce {
namespace {

using agent::ThreadState;
using c10::ScalarType;

struct ByPolicy {
  static constexpr bool kServesNewNodes = true;
  using Kind = enforce::Kind;
  static Kind kind_of(const at::Tensor& arg, ScalarType to, c10::DeviceType device, const Source& source) {
    return kind_of_cast(arg, to, device, source);
  }
  static lanes::WhyNotCached why_not_kept(lanes::WhyNotCached pytorchs, Kind kind, c10::DeviceType device) {
    return enforce::why_not_kept(pytorchs, kind, device);
  }
  static at::Tensor cast(ScalarType to, const at::Tensor& arg, c10::DeviceType device, const Source& source, Kind kind,
                         Outcome& outcome) {
    return cached_cast(to, arg, device, source, kind, outcome);
  }
};

// nullptr when castscope has stepped aside. The policy still holds then, but nothing is recorded any more.
ThreadState* recording_thread() {
  return agent::g_process.stopped.load(std::memory_order_relaxed) ? nullptr : agent::thread_state();
}

template <int PythonMinor>
at::Tensor cached_cast_by_policy(ScalarType to, const at::Tensor& arg, c10::DeviceType device) {
  const void* caller = __builtin_return_address(0);
  ThreadState* t = recording_thread();
  if (t == nullptr) [[unlikely]]
    return cached_cast_from(caller, to, arg, device);
  agent::Recording& r = *agent::g_process.recording.load(std::memory_order_relaxed);
  const std::uint64_t call_site = r.call_sites.key(t->return_addresses, caller, __builtin_dwarf_cfa());
  if (const OperatorPlan* plan = agent::CallSites::plan(t->return_addresses, caller))
    to = target(*plan, to, arg, device);
  return agent::cast_and_record<PythonMinor, ByPolicy>(*t, to, arg, device, call_site, caller);
}

template <int PythonMinor>
at::Tensor cast_argument_of_ours(ScalarType to, const at::Tensor& arg, c10::DeviceType device, std::uint64_t site) {
  ThreadState* t = recording_thread();
  if (t == nullptr) [[unlikely]]
    return cached_cast(to, arg, device);
  return agent::cast_and_record<PythonMinor, ByPolicy>(*t, to, arg, device, site, reinterpret_cast<const void*>(site));
}

using CastArgument = at::Tensor (*)(ScalarType, const at::Tensor&, c10::DeviceType, std::uint64_t);
std::atomic<CastArgument> g_cast_argument{&cast_argument_of_ours<0>};

template <int PythonMinor>
void* hook_for() {
  g_cast_argument.store(&cast_argument_of_ours<PythonMinor>, std::memory_order_relaxed);
  return reinterpret_cast<void*>(&cached_cast_by_policy<PythonMinor>);
}

}  // namespace

void* cached_cast_hook(int python_minor) {
  return agent::for_python(python_minor, []<int Minor>() { return hook_for<Minor>(); });
}

at::Tensor cast_argument(ScalarType to, const at::Tensor& arg, c10::DeviceType device, std::uint64_t site) {
  return g_cast_argument.load(std::memory_order_relaxed)(to, arg, device, site);
}

}  // namespace castscope::enforce
