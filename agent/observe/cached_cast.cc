// The hot path: at::autocast::cached_cast, called by every autocast kernel for every tensor argument.
#include <algorithm>
#include <exception>

#include "agent/compile/compile.h"
#include "agent/enforce/casting.h"
#include "agent/enforce/enforcing.h"
#include "agent/gpu/gpu.h"
#include "agent/observe/autocast_state.h"
#include "agent/observe/call_frame.h"
#include "agent/observe/cast_argument.h"
#include "agent/observe/hooks.h"
#include "agent/observe/odd_tensors.h"
#include "agent/observe/stale_copies.h"
#include "agent/observe/torch_seam.h"
#include "agent/script/script.h"

namespace castscope::observe {
namespace {

// Marks the thread as inside cached_cast, so that _to_copy tells it that a conversion was made.
class InsideCachedCast {
 public:
  explicit InsideCachedCast(ThreadState& t) : t_(t), inside_(t.in_cached_cast), converted_(t.converted) {
    t.in_cached_cast = true;
    t.converted = false;
  }
  ~InsideCachedCast() {
    t_.in_cached_cast = inside_;
    t_.converted = converted_;
  }
  InsideCachedCast(const InsideCachedCast&) = delete;
  InsideCachedCast& operator=(const InsideCachedCast&) = delete;
  bool converted() const { return t_.converted; }

 private:
  ThreadState& t_;
  const bool inside_, converted_;
};

// As copies go without having been counted (before recording began), neither falls below zero.
std::uint64_t changed(lanes::Shared<std::uint64_t>& count, std::uint64_t more, std::uint64_t less) {
  std::uint64_t seen = count.load(std::memory_order_relaxed), value;
  do {
    value = seen - std::min(seen, less) + more;
  } while (!count.compare_exchange_weak(seen, value, std::memory_order_relaxed));
  return value;
}

void note_in_cache(lanes::SegmentHeader& h, const enforce::Held& kept, const enforce::Held& gone) {
  const auto raise = [](lanes::Shared<std::uint64_t>& peak, std::uint64_t value) {
    std::uint64_t seen = peak.load(std::memory_order_relaxed);
    while (seen < value && !peak.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
    }
  };
  raise(h.cache_peak_entries, changed(h.cache_entries, kept.entries, gone.entries));
  raise(h.cache_peak_bytes, changed(h.cache_bytes, kept.bytes, gone.bytes));
}

[[gnu::cold, gnu::noinline]] void learn(Recording& r, std::uint64_t call_site, const TensorImpl* tensor) {
  try {
    r.call_sites.learn(call_site, tensor);
  } catch (const std::exception&) {  // out of memory: learnt another time
  }
}

[[gnu::cold, gnu::noinline]] at::Tensor traced(ThreadState& t, ScalarType to, const at::Tensor& arg,
                                               c10::DeviceType device, std::uint64_t call_site, const void* caller) {
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
    compile::cast_traced(t, {.from = static_cast<std::uint8_t>(from),
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

// cached_cast returns such a tensor as it is, unless PyTorch thinks otherwise than autocast_mode.cpp does today.
bool passes(const TensorImpl* source, ScalarType to) {
  const ScalarType from = dtype_of(source);
  return from == to || !may_autocast(from);
}

// As the hot path below has it, and told.
[[gnu::cold, gnu::noinline]] at::Tensor pass_looked_at(ThreadState& t, ScalarType to, const at::Tensor& arg,
                                                       c10::DeviceType device, std::uint64_t call_site,
                                                       const void* caller) {
  const auto dev = static_cast<std::uint8_t>(device);
  const TensorImpl* source = arg.unsafeGetTensorImpl();
  const std::uint32_t region = region_in_force(t, dev, static_cast<std::uint8_t>(to));
  at::Tensor result = original<CachedCast>(CASTSCOPE_HOOK_CACHED_CAST)(to, arg, device);
  lanes::Counter* counter = find_pass(t, call_site, region, false, dev, caller, source);
  const bool passed = result.unsafeGetTensorImpl() == source;
  lanes::LaneWriter::add(passed ? counter->passes : counter->casts, 1);
  if (passed) operators::pass_made(t, source, counter->site.load(std::memory_order_relaxed));
  return result;
}

// The site of a call that returned another dtype than was asked for.
[[gnu::cold, gnu::noinline]] Counted find_as(ThreadState& t, CallKey key, CallFacts facts, ScalarType got,
                                             const void* caller, const TensorImpl* source) {
  facts.to = static_cast<std::uint8_t>(got);
  key.packed = facts.pack();
  return find_site(t, key, facts, caller, source);
}

// torch.jit.trace has recorded the conversion as one of the user's.
[[gnu::cold, gnu::noinline]] void note_traced(Recording& r, std::uint64_t call_site, const void* caller,
                                              const TensorImpl* source) {
  try {
    const CallSite site = r.call_sites.find(call_site, caller, source);
    script::cast_traced(site.op, site.position, site.argument);
  } catch (const std::exception&) {  // out of memory: where the graph runs, it is the user's
  }
}

// PyTorch's own cached_cast, or ours where a policy is enforced.
template <bool kEnforced>
at::Tensor cast(ScalarType to, const at::Tensor& arg, c10::DeviceType device, const enforce::Source& source,
                enforce::Kind kind, enforce::Outcome& outcome) {
  if constexpr (kEnforced)
    return enforce::cached_cast(to, arg, device, source, kind, outcome);
  else
    return original<CachedCast>(CASTSCOPE_HOOK_CACHED_CAST)(to, arg, device);
}

// `caller` stands for the native place, where it is one.
template <int PythonMinor, bool kEnforced>
[[gnu::always_inline]] inline at::Tensor cast_and_record(ThreadState& t, ScalarType to, const at::Tensor& arg,
                                                         c10::DeviceType device, std::uint64_t call_site,
                                                         const void* caller) {
  Recording& r = *g_process.recording.load(std::memory_order_relaxed);
  const TensorImpl* source = arg.unsafeGetTensorImpl();
  if (attention() != 0) [[unlikely]] {
    if (operator_recording()) learn(r, call_site, source);
    if (operators::deep() && passes(source, to) && !is_traced(source))
      return pass_looked_at(t, to, arg, device, call_site, caller);
  }
  if (is_traced(source)) [[unlikely]]
    return traced(t, to, arg, device, call_site, caller);

  const auto dev = static_cast<std::uint8_t>(device);
  const std::uint32_t region = region_in_force(t, dev, static_cast<std::uint8_t>(to));
  const ScalarType from = dtype_of(source);
  if (passes(source, to)) {
    at::Tensor result = original<CachedCast>(CASTSCOPE_HOOK_CACHED_CAST)(to, arg, device);
    lanes::Counter* counter = find_pass(t, call_site, region, false, dev, caller, source);
    lanes::LaneWriter::add(result.unsafeGetTensorImpl() == source ? counter->passes : counter->casts, 1);
    return result;
  }

  const auto python = stack_summary<PythonMinor>(t);
  const auto& autograd = *static_cast<const c10::AutogradState*>(t.autograd);
  const Standing standing = standing_of(source);
  const auto region_dtype = static_cast<ScalarType>(t.region_dtype);  // of `dev`, since region_in_force
  lanes::WhyNotCached why =
      why_not_cached(to, from, region_dtype, standing, arg, device, t.cache_enabled, autograd.get_inference_mode());
  const enforce::Source weight{standing, is_parameter(source, standing), autograd.get_grad_mode(),
                               autograd.get_inference_mode(), t.cache_enabled};
  const enforce::Kind kind = kEnforced ? enforce::kind_of_cast(arg, to, device, weight) : enforce::Kind::kNone;
  if constexpr (kEnforced) why = enforce::why_not_kept(why, kind, device);
  const CallFacts facts{.from = static_cast<std::uint8_t>(from),
                        .to = static_cast<std::uint8_t>(to),
                        .device = dev,
                        .cause = lanes::Cause::kAutocast,
                        .phase = phase_of(lanes::Phase::kForward),
                        .why = why,
                        .requires_grad = standing.requires_grad,
                        .leaf = standing.leaf,
                        .view = standing.view,
                        .parameter = weight.parameter,
                        .grad_mode = weight.grad_mode};
  const CallKey key{python.hash, call_site, facts.pack(), python.module, region};
  const Counted counted = find_site(t, key, facts, caller, source);

  const std::uint64_t begin = t.lane.now();
  const gpu::CastWork work(t, counted.site);
  InsideCachedCast inside(t);
  enforce::Outcome outcome;
  at::Tensor result = cast<kEnforced>(to, arg, device, weight, kind, outcome);
  if (inside.converted() || outcome.converted) {
    const std::uint64_t ticks = t.lane.now() - begin;
    const std::uint64_t bytes = bytes_of(result);
    // By PyTorch's cache, unless the copy is ours.
    const bool kept = why == lanes::WhyNotCached::kNone && (kind == enforce::Kind::kNone || outcome.kept);
    const std::uint8_t first = flag_of_first(*counted.counter);
    lanes::LaneWriter::add(counted.counter->casts, 1);
    lanes::LaneWriter::add(counted.counter->bytes, bytes);
    lanes::LaneWriter::add(counted.counter->ticks, ticks);
    if (kept || outcome.gone.entries != 0) note_in_cache(r.segment.header(), {kept, kept ? bytes : 0}, outcome.gone);
    if (kept) {
      lanes::LaneWriter::add(counted.counter->kept, 1);
      copy_kept(r, source, *counted.counter);
    }
    const bool by_data = standing.view || !standing.requires_grad;
    publish(t, r, lanes::EventKind::kCast, source, counted.site, begin, ticks, bytes,
            static_cast<std::uint8_t>(first | (kept      ? lanes::kFlagKept
                                               : by_data ? lanes::kFlagData
                                                         : 0)),
            !kept && counted.counter->version != 0 ? content_of(source) : 0);
    if (operators::deep()) [[unlikely]]
      operators::cast_made(t, source, static_cast<std::uint8_t>(to), counted.site);
    if (script::is_tracing()) [[unlikely]]
      note_traced(r, call_site, caller, source);
  } else if (result.unsafeGetTensorImpl() == source) {
    // Not eligible for a reason that was not foreseen (another device): a pass-through.
    lanes::Counter* counter = find_pass(t, call_site, region, false, dev, caller, source);
    lanes::LaneWriter::add(counter->passes, 1);
    if (operators::deep()) operators::pass_made(t, source, counter->site.load(std::memory_order_relaxed));
  } else {
    Counted hit = counted;
    // The cache does not look at the dtype: a copy made for a bfloat16 region may come back in a float16 one.
    if (const ScalarType got = dtype_of(result.unsafeGetTensorImpl()); got != to) [[unlikely]]
      hit = find_as(t, key, facts, got, caller, source);
    lanes::LaneWriter::add(hit.counter->hits, 1);
    publish(t, r, lanes::EventKind::kHit, source, hit.site, begin, 0, 0, 0);
    if (is_in_doubt(source, *hit.counter)) [[unlikely]]
      look_at_hit(t, source, result.unsafeGetTensorImpl(), hit);
  }
  return result;
}

template <int PythonMinor, bool kEnforced>
at::Tensor cached_cast(ScalarType to, const at::Tensor& arg, c10::DeviceType device) {
  const void* caller = __builtin_return_address(0);
  ThreadState* t = kEnforced && g_process.stopped.load(std::memory_order_relaxed) ? nullptr : thread_state();
  if (t == nullptr) [[unlikely]]  // castscope has stepped aside: nothing is recorded any more
    return kEnforced ? enforce::cached_cast_from(caller, to, arg, device)
                     : original<CachedCast>(CASTSCOPE_HOOK_CACHED_CAST)(to, arg, device);
  Recording& r = *g_process.recording.load(std::memory_order_relaxed);
  const std::uint64_t call_site = r.call_sites.key(*t, caller, __builtin_dwarf_cfa());
  if constexpr (kEnforced)
    if (const enforce::OperatorPlan* plan = CallSites::plan(*t, caller)) to = enforce::target(*plan, to, arg, device);
  return cast_and_record<PythonMinor, kEnforced>(*t, to, arg, device, call_site, caller);
}

template <int PythonMinor>
at::Tensor cast_argument_of_ours(ScalarType to, const at::Tensor& arg, c10::DeviceType device, std::uint64_t site) {
  ThreadState* t = g_process.stopped.load(std::memory_order_relaxed) ? nullptr : thread_state();
  if (t == nullptr) [[unlikely]]
    return enforce::cached_cast(to, arg, device);
  return cast_and_record<PythonMinor, true>(*t, to, arg, device, site, reinterpret_cast<const void*>(site));
}

using CastArgument = at::Tensor (*)(ScalarType, const at::Tensor&, c10::DeviceType, std::uint64_t);

struct Hooks {
  void* cached_cast;
  CastArgument cast_argument;
};

template <int PythonMinor>
Hooks hooks_for() {
  return {enforce::is_on() ? reinterpret_cast<void*>(&cached_cast<PythonMinor, true>)
                           : reinterpret_cast<void*>(&cached_cast<PythonMinor, false>),
          &cast_argument_of_ours<PythonMinor>};
}

Hooks hooks_for(int python_minor) {
  switch (python_minor) {
    case 11:
      return hooks_for<11>();
    case 12:
      return hooks_for<12>();
    case 13:
      return hooks_for<13>();
    case 14:
      return hooks_for<14>();
    default:
      return hooks_for<0>();
  }
}

std::atomic<CastArgument> g_cast_argument{&cast_argument_of_ours<0>};

}  // namespace

void* cached_cast_hook(int python_minor) {
  const Hooks hooks = hooks_for(python_minor);
  g_cast_argument.store(hooks.cast_argument, std::memory_order_relaxed);
  return hooks.cached_cast;
}

at::Tensor cast_argument(ScalarType to, const at::Tensor& arg, c10::DeviceType device, std::uint64_t site) {
  return g_cast_argument.load(std::memory_order_relaxed)(to, arg, device, site);
}

}  // namespace castscope::observe
