#include "agent/casts/cached_cast.h"

#include <exception>

#include "agent/casts/hooks.h"
#include "agent/casts/seen_in_trace.h"
#include "agent/torch/odd_tensors.h"

namespace castscope::agent {
namespace {

// PyTorch may drop copies that it made before recording began and that were never counted: the count stops at zero
// then.
std::uint64_t changed(lanes::Shared<std::uint64_t>& count, std::uint64_t more, std::uint64_t less) {
  std::uint64_t seen = count.load(std::memory_order_relaxed), value;
  do {
    value = seen - std::min(seen, less) + more;
  } while (!count.compare_exchange_weak(seen, value, std::memory_order_relaxed));
  return value;
}

// PyTorch's own cached_cast.
struct ByPyTorch {
  static constexpr bool kServesNewNodes = false;
  enum class Kind : std::uint8_t { kNone };
  static Kind kind_of(const at::Tensor&, ScalarType, c10::DeviceType, const CastSource&) { return Kind::kNone; }
  static lanes::WhyNotCached why_not_kept(lanes::WhyNotCached pytorchs, Kind, c10::DeviceType) { return pytorchs; }
  static at::Tensor cast(ScalarType to, const at::Tensor& arg, c10::DeviceType device, const CastSource&, Kind,
                         CastOutcome&) {
    return original<CachedCast>(CASTSCOPE_HOOK_CACHED_CAST)(to, arg, device);
  }
};

template <int PythonMinor>
at::Tensor cached_cast(ScalarType to, const at::Tensor& arg, c10::DeviceType device) {
  const void* caller = __builtin_return_address(0);
  ThreadState* t = thread_state();
  if (t == nullptr) [[unlikely]]  // castscope has stepped aside: nothing is recorded any more
    return original<CachedCast>(CASTSCOPE_HOOK_CACHED_CAST)(to, arg, device);
  Recording& r = *g_process.recording.load(std::memory_order_relaxed);
  const std::uint64_t call_site = r.call_sites.key(t->return_addresses, caller, __builtin_dwarf_cfa());
  return cast_and_record<PythonMinor, ByPyTorch>(*t, to, arg, device, call_site, caller);
}

}  // namespace

void note_in_cache(lanes::SegmentHeader& h, const CacheContents& kept, const CacheContents& gone) {
  const auto raise = [](lanes::Shared<std::uint64_t>& peak, std::uint64_t value) {
    std::uint64_t seen = peak.load(std::memory_order_relaxed);
    while (seen < value && !peak.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
    }
  };
  raise(h.cache_peak_entries, changed(h.cache_entries, kept.entries, gone.entries));
  raise(h.cache_peak_bytes, changed(h.cache_bytes, kept.bytes, gone.bytes));
}

void learn_call_site(Recording& r, std::uint64_t call_site, const TensorImpl* tensor) {
  try {
    r.call_sites.learn(call_site, tensor);
  } catch (const std::exception&) {  // out of memory: the call site is learnt another time
  }
}

at::Tensor cast_in_trace(ThreadState& t, ScalarType to, const at::Tensor& arg, c10::DeviceType device,
                         std::uint64_t call_site, const void* caller) {
  const auto dev = static_cast<std::uint8_t>(device);
  lanes::Counter* counter = find_pass(t, call_site, region_in_force(t, dev, static_cast<std::uint8_t>(to)), true, dev,
                                      caller, arg.unsafeGetTensorImpl());
  const TensorImpl* source = arg.unsafeGetTensorImpl();
  const ScalarType from = dtype_of(source);
  bool converted = false;
  at::Tensor result;
  {
    InsideCachedCast inside(t);
    result = original<CachedCast>(CASTSCOPE_HOOK_CACHED_CAST)(to, arg, device);
    converted = inside.converted();
  }
  lanes::LaneWriter::add(counter->traced, 1);
  if (converted) {
    const Standing standing = standing_of(source);
    // PyTorch's own function has returned, and with it the lock of its cache is free.
    g_features.cast_was_traced(MayWait::no_lock_held(), t,
                               {.from = static_cast<std::uint8_t>(from),
                                .to = static_cast<std::uint8_t>(to),
                                .device = dev,
                                .region = region_in_force(t, dev, static_cast<std::uint8_t>(to)),
                                .call_site = call_site,
                                .caller = caller,
                                .tensor = source,
                                .requires_grad = standing.requires_grad,
                                .leaf = standing.leaf,
                                .view = standing.view,
                                .parameter = is_parameter(source, standing),
                                .grad_mode = grad_mode(),
                                .subclass = is_traced_subclass(source)});
  }
  return result;
}

at::Tensor pass_looked_at(ThreadState& t, ScalarType to, const at::Tensor& arg, c10::DeviceType device,
                          std::uint64_t call_site, const void* caller) {
  const auto dev = static_cast<std::uint8_t>(device);
  const TensorImpl* source = arg.unsafeGetTensorImpl();
  const std::uint32_t region = region_in_force(t, dev, static_cast<std::uint8_t>(to));
  at::Tensor result = original<CachedCast>(CASTSCOPE_HOOK_CACHED_CAST)(to, arg, device);
  lanes::Counter* counter = find_pass(t, call_site, region, false, dev, caller, source);
  const bool passed = result.unsafeGetTensorImpl() == source;
  lanes::LaneWriter::add(passed ? counter->passes : counter->casts, 1);
  if (passed) g_features.pass_was_made(t, source, counter->site.load(std::memory_order_relaxed));
  return result;
}

Counted find_as(ThreadState& t, CallKey key, CallFacts facts, ScalarType got, const void* caller,
                const TensorImpl* source) {
  facts.to = static_cast<std::uint8_t>(got);
  key.packed = facts.pack();
  return find_site(t, key, facts, caller, source);
}

void note_traced(Recording& r, std::uint64_t call_site, const void* caller, const TensorImpl* source) {
  try {
    const CallSite site = r.call_sites.find(call_site, caller, source);
    script::cast_traced(site.op, site.position, site.argument);
  } catch (const std::exception&) {  // out of memory: where the graph runs, the cast counts as the user's
  }
}

void* cached_cast_hook(int python_minor) {
  return for_python(python_minor, []<int Minor>() { return reinterpret_cast<void*>(&cached_cast<Minor>); });
}

}  // namespace castscope::agent
