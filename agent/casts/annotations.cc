#include "agent/casts/annotations.h"

#include "agent/casts/cast_record.h"
#include "agent/regions/regions.h"

namespace castscope::agent {
namespace {

// The same rule as WeightCache.put in casting.py.
lanes::WhyNotCached why_not_kept(const TensorImpl* source, const Standing& standing, bool keeps_weights) {
  using lanes::WhyNotCached;
  if (!keeps_weights) return WhyNotCached::kNotAutocast;
  if (dtype_of(source) != ScalarType::Float) return WhyNotCached::kNotFp32;
  if (!standing.requires_grad) return WhyNotCached::kNoRequiresGrad;
  if (!standing.leaf) return WhyNotCached::kNotLeaf;
  return standing.view ? WhyNotCached::kView : WhyNotCached::kNone;
}

CallFacts facts_of(const ThreadState& t, const TensorImpl* source, const AnnotatedCast& cast, std::uint32_t region) {
  const Standing standing = standing_of(source);
  return {.from = static_cast<std::uint8_t>(dtype_of(source)),
          .to = cast.to,
          .device = static_cast<std::uint8_t>(source->device_type()),
          .cause = lanes::Cause::kAnnotation,
          .phase = phase_of(region == 0 ? lanes::Phase::kOther : lanes::Phase::kForward),
          .why = why_not_kept(source, standing, cast.keeps_weights),
          .requires_grad = standing.requires_grad,
          .leaf = standing.leaf,
          .view = standing.view,
          .parameter = is_parameter(source, standing),
          .grad_mode = static_cast<const c10::AutogradState*>(t.autograd)->get_grad_mode()};
}

}  // namespace

void annotated_cast_begins(const AnnotatedCast& cast) {
  const auto* source = static_cast<const TensorImpl*>(cast.tensor);
  if (source == nullptr || is_traced(source) || is_traced_on_meta(source)) return;
  ThreadState* state = g_process.silent() ? nullptr : thread_state();
  if (state == nullptr) return;
  ThreadState& t = *state;
  Recording& r = *g_process.recording.load(std::memory_order_relaxed);
  const auto device = static_cast<std::uint8_t>(source->device_type());
  const bool in_region = !t.open.empty() || t.enabled_by_raw[device % 32] == 1;
  const std::uint32_t region = in_region ? region_of_conversion(t, device) : 0;
  const CallFacts facts = facts_of(t, source, cast, region);
  const auto python = summary_of(t);
  t.annotated = {cast.function, cast.argument, nullptr, nullptr, 0, cast.to};
  const std::uint32_t call_site = r.definitions.planned_call_site(cast.function, cast.position, cast.argument);
  const CallKey key{python.hash, call_site, facts.pack(), python.module, region};
  const Counted counted = find_site(t, key, facts, nullptr, source);
  if (!cast.served) {
    t.annotated.source = source;
    t.annotated.counter = counted.counter;
    t.annotated.site = counted.site;
    return;
  }
  lanes::LaneWriter::add(counted.counter->hits, 1);
  publish(t, r, lanes::EventKind::kHit, source, counted.site, t.lane.now(), 0, 0, 0);
}

void annotated_cast_ends() {
  if (ThreadState* t = thread_slot()) t->annotated.source = nullptr;
}

}  // namespace castscope::agent
