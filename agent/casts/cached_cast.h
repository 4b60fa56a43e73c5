// The hot path: at::autocast::cached_cast, called by every autocast kernel for every tensor argument. Who casts is a
// template parameter: PyTorch itself (cached_cast.cc), or castscope by a policy that is enforced
// (enforce/enforced_cast.cc).
//
// A class that casts has
//   bool kServesNewNodes                               whether a served copy has a node of its own in autograd's graph
//   enum Kind                                          how the copy is kept; kNone: by PyTorch's cache, or not
//   Kind kind_of(arg, to, device, source)
//   WhyNotCached why_not_kept(pytorchs, kind, device)  PyTorch's reason, unless the copy is kept all the same
//   Tensor cast(to, arg, device, source, kind, outcome)
#pragma once

#include <algorithm>
#include <atomic>

#include "agent/casts/cast_record.h"
#include "agent/casts/cast_request.h"
#include "agent/casts/stale_copies.h"
#include "agent/casts/timed_cast.h"
#include "agent/regions/regions.h"
#include "agent/torch/originals.h"
#include "agent/torch/torch_seam.h"
#include "agent/torchscript/tracing.h"

namespace castscope::agent {

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

// cached_cast returns such a tensor as it is, as long as PyTorch decides as autocast_mode.cpp does today.
inline bool passes(const TensorImpl* source, ScalarType to) {
  const ScalarType from = dtype_of(source);
  return from == to || !may_autocast(from);
}

// cast_and_record seldom calls these; they are in a source file of their own, so that the hot path stays small.
[[gnu::cold]] void learn_call_site(Recording& r, std::uint64_t call_site, const TensorImpl* tensor);
// Casts for a call that belongs to tracing.
[[gnu::cold]] at::Tensor cast_in_trace(ThreadState& t, ScalarType to, const at::Tensor& arg, c10::DeviceType device,
                                       std::uint64_t call_site, const void* caller);
// Passes the tensor through as the hot path does, and tells of it.
[[gnu::cold]] at::Tensor pass_looked_at(ThreadState& t, ScalarType to, const at::Tensor& arg, c10::DeviceType device,
                                        std::uint64_t call_site, const void* caller);
// Finds the site of a call that returned another dtype than was asked for.
[[gnu::cold]] Counted find_as(ThreadState& t, CallKey key, CallFacts facts, ScalarType got, const void* caller,
                              const TensorImpl* source);
// Notes that torch.jit.trace has recorded the conversion as one of the user's.
[[gnu::cold]] void note_traced(Recording& r, std::uint64_t call_site, const void* caller, const TensorImpl* source);
// Counts what the cache holds: `kept` came in, `gone` went out.
void note_in_cache(lanes::SegmentHeader& h, const CacheContents& kept, const CacheContents& gone);

// One call of cached_cast, as cast_and_record hands it to the parts of the hot path below, all of which are inlined
// into it.
struct CastCall {
  ThreadState& t;
  Recording& r;
  ScalarType to;
  const at::Tensor& arg;
  const TensorImpl* source;  // of `arg`
  c10::DeviceType device;
  std::uint8_t dev;      // the same, as definitions have it
  std::uint32_t region;  // in force
  std::uint64_t call_site;
  const void* caller;  // stands for the native place, if it is one
};

// The time and the memory that one conversion took. `begin` and `ticks` are in the segment's clock.
struct CastCost {
  std::uint64_t begin, ticks, bytes;
};

// PyTorch returns the tensor as it is.
[[gnu::always_inline]] inline at::Tensor pass_through(const CastCall& c) {
  at::Tensor result = original<CachedCast>(CASTSCOPE_HOOK_CACHED_CAST)(c.to, c.arg, c.device);
  lanes::Counter* counter = find_pass(c.t, c.call_site, c.region, false, c.dev, c.caller, c.source);
  lanes::LaneWriter::add(result.unsafeGetTensorImpl() == c.source ? counter->passes : counter->casts, 1);
  return result;
}

// The tensor was converted. `kept`: a cache keeps the copy.
inline std::uint8_t flags_of_kept(const ThreadState& t) {
  const bool grad_mode = static_cast<const c10::AutogradState*>(t.autograd)->get_grad_mode();
  return grad_mode ? lanes::kFlagKept | lanes::kFlagGradMode : lanes::kFlagKept;
}

[[gnu::always_inline]] inline void record_cast(const CastCall& c, const at::Tensor& result, const Counted& counted,
                                               const Standing& standing, const CastCost& cost, bool kept,
                                               const CacheContents& gone) {
  const std::uint8_t first = flag_of_first(*counted.counter);
  lanes::LaneWriter::add(counted.counter->casts, 1);
  lanes::LaneWriter::add(counted.counter->bytes, cost.bytes);
  lanes::LaneWriter::add(counted.counter->ticks, cost.ticks);
  remember_maker(c.r, result, counted.site);
  if (kept || gone.entries != 0) note_in_cache(c.r.segment.header(), {kept, kept ? cost.bytes : 0}, gone);
  if (kept) {
    lanes::LaneWriter::add(counted.counter->kept, 1);
    copy_kept(c.r, c.source, *counted.counter);
  }
  const bool by_data = standing.view || !standing.requires_grad;
  publish(c.t, c.r, lanes::EventKind::kCast, c.source, counted.site, cost.begin, cost.ticks, cost.bytes,
          static_cast<std::uint8_t>(first | (kept      ? flags_of_kept(c.t)
                                             : by_data ? lanes::kFlagData
                                                       : 0)),
          !kept && counted.counter->version != 0 ? content_of(c.source) : 0);
  if (deep()) [[unlikely]]
    g_features.cast_was_made(c.t, c.source, static_cast<std::uint8_t>(c.to), counted.site);
  if (script::is_tracing()) [[unlikely]]
    note_traced(c.r, c.call_site, c.caller, c.source);
}

// The tensor came back as it is, for a reason that passes() did not foresee (another device).
[[gnu::always_inline]] inline void record_unforeseen_pass(const CastCall& c) {
  lanes::Counter* counter = find_pass(c.t, c.call_site, c.region, false, c.dev, c.caller, c.source);
  lanes::LaneWriter::add(counter->passes, 1);
  if (deep()) g_features.pass_was_made(c.t, c.source, counter->site.load(std::memory_order_relaxed));
}

// The cache has served a copy.
[[gnu::always_inline]] inline void record_hit(const CastCall& c, const CallKey& key, const CallFacts& facts,
                                              const Counted& counted, std::uint64_t begin, const TensorImpl* copy) {
  Counted hit = counted;
  // The cache does not look at the dtype: a copy made for a bfloat16 region may come back in a float16 one.
  if (const ScalarType got = dtype_of(copy); got != c.to) [[unlikely]]
    hit = find_as(c.t, key, facts, got, c.caller, c.source);
  lanes::LaneWriter::add(hit.counter->hits, 1);
  publish(c.t, c.r, lanes::EventKind::kHit, c.source, hit.site, begin, 0, 0, 0);
  if (is_in_doubt(c.source, *hit.counter)) [[unlikely]]
    look_at_hit(c.t, c.source, copy, hit);
}

template <int PythonMinor, typename Casting>
[[gnu::always_inline]] inline at::Tensor cast_and_record(ThreadState& t, ScalarType to, const at::Tensor& arg,
                                                         c10::DeviceType device, std::uint64_t call_site,
                                                         const void* caller) {
  Recording& r = *g_process.recording.load(std::memory_order_relaxed);
  const TensorImpl* source = arg.unsafeGetTensorImpl();
  if (attention() != 0) [[unlikely]] {
    if (operator_recording()) learn_call_site(r, call_site, source);
    if (deep() && passes(source, to) && !is_traced(source))
      return pass_looked_at(t, to, arg, device, call_site, caller);
  }
  if (is_traced(source)) [[unlikely]]
    return cast_in_trace(t, to, arg, device, call_site, caller);

  const auto dev = static_cast<std::uint8_t>(device);
  const std::uint32_t region = region_in_force(t, dev, static_cast<std::uint8_t>(to));
  const ScalarType from = dtype_of(source);
  const CastCall call{t, r, to, arg, source, device, dev, region, call_site, caller};
  if (passes(source, to)) return pass_through(call);

  const auto python = stack_summary<PythonMinor>(t);
  const auto& autograd = *static_cast<const c10::AutogradState*>(t.autograd);
  const Standing standing = standing_of(source);
  const auto region_dtype = static_cast<ScalarType>(t.region_dtype);  // the dtype for `dev`, since region_in_force
  lanes::WhyNotCached why =
      why_not_cached(to, from, region_dtype, standing, arg, device, t.cache_enabled, autograd.get_inference_mode());
  const CastSource weight{standing, is_parameter(source, standing), autograd.get_grad_mode(),
                          autograd.get_inference_mode(), t.cache_enabled};
  const typename Casting::Kind kind = Casting::kind_of(arg, to, device, weight);
  why = Casting::why_not_kept(why, kind, device);
  // In place: GCC makes larger code of a function that returns the facts.
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
  const TimingOfCast timed(t, counted.site);
  InsideCachedCast inside(t);
  CastOutcome outcome;
  at::Tensor result = Casting::cast(to, arg, device, weight, kind, outcome);
  if (inside.converted() || outcome.converted) {
    const CastCost cost{begin, t.lane.now() - begin, bytes_of(result)};
    // PyTorch keeps a copy that it made; for a copy that a policy made, `outcome` says whether the policy keeps it.
    const bool kept = why == lanes::WhyNotCached::kNone && (kind == Casting::Kind::kNone || outcome.kept);
    record_cast(call, result, counted, standing, cost, kept, outcome.gone);
  } else if (result.unsafeGetTensorImpl() == source) {
    record_unforeseen_pass(call);
  } else {
    record_hit(call, key, facts, counted, begin, result.unsafeGetTensorImpl());
    if constexpr (Casting::kServesNewNodes) remember_maker(r, result, counted.site);
  }
  return result;
}

}  // namespace castscope::agent
