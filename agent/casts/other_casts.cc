// Conversions between floating dtypes that do not go through cached_cast. All of them end in at::_ops::_to_copy::call,
// which is only called when a copy is really made. The at::_ops::to_*::call above it are hooked for their return
// address, which tells who asked. Conversions within a GPU kernel, and copy_ between dtypes, are not seen here.
#include <exception>
#include <utility>

#include "agent/casts/annotations.h"
#include "agent/casts/cast_record.h"
#include "agent/casts/conversion.h"
#include "agent/casts/hooks.h"
#include "agent/casts/seen_in_trace.h"
#include "agent/casts/timed_cast.h"
#include "agent/regions/regions.h"
#include "agent/regions/script_regions.h"
#include "agent/torch/backward_node.h"
#include "agent/torch/originals.h"
#include "agent/wiring/features.h"

namespace castscope::agent {
namespace {

using std::optional;
using Format = optional<c10::MemoryFormat>;
using ToCopy = at::Tensor (*)(const at::Tensor&, optional<ScalarType>, optional<c10::Layout>, optional<c10::Device>,
                              optional<bool>, bool, Format);
using ToDtype = at::Tensor (*)(const at::Tensor&, ScalarType, bool, bool, Format);
using ToDtypeLayout = at::Tensor (*)(const at::Tensor&, optional<ScalarType>, optional<c10::Layout>,
                                     optional<c10::Device>, optional<bool>, bool, bool, Format);
using ToDevice = at::Tensor (*)(const at::Tensor&, c10::Device, ScalarType, bool, bool, Format);
using ToOther = at::Tensor (*)(const at::Tensor&, const at::Tensor&, bool, bool, Format);

// Only between floating dtypes. A Python number that takes part in an operator is a 0-dim tensor too, but it is not
// counted as a tensor.
bool is_precision_cast(const TensorImpl* source, ScalarType to) {
  const ScalarType from = dtype_of(source);
  return from != to && is_floating(from) && is_floating(to) && !source->is_wrapped_number();
}

void remember_script_weight(Recording& r, const TensorImpl* source) {
  try {
    r.script_weights.remember(source);
  } catch (const std::exception&) {  // out of memory: its later casts count as casts of an input
  }
}

template <int PythonMinor>
at::Tensor counted_to_copy(ThreadState& t, castscope_hook hook, const void* caller, const at::Tensor& self,
                           ScalarType to, optional<ScalarType> dtype, optional<c10::Layout> layout,
                           optional<c10::Device> device, optional<bool> pin, bool non_blocking, Format format) {
  Recording& r = *g_process.recording.load(std::memory_order_relaxed);
  const TensorImpl* source = self.unsafeGetTensorImpl();
  const auto python = stack_summary<PythonMinor>(t);
  const auto dev = static_cast<std::uint8_t>(source->device_type());
  const std::uint32_t region = t.open.empty() && t.enabled_by_raw[dev % 32] != 1 ? 0 : region_of_conversion(t, dev);
  const Standing standing = standing_of(source);
  const bool folding = t.script != nullptr && t.script->node != nullptr;
  const bool script_weight =
      folding || (!standing.requires_grad && r.script_weights.calls(caller) && r.script_weights.holds(source));
  const lanes::Phase phase = phase_of(region == 0 ? lanes::Phase::kOther : lanes::Phase::kForward);
  const BackwardNode node = phase == lanes::Phase::kBackward ? backward_node() : BackwardNode();
  const CallFacts facts{.from = static_cast<std::uint8_t>(dtype_of(source)),
                        .to = static_cast<std::uint8_t>(to),
                        .device = dev,
                        .cause = lanes::Cause::kUnknown,  // found at first sight; the caller is part of the key
                        .phase = phase,
                        .why = lanes::WhyNotCached::kNotAutocast,
                        .requires_grad = standing.requires_grad,
                        .leaf = standing.leaf,
                        .view = standing.view,
                        .parameter = is_parameter(source, standing) || script_weight,
                        .grad_mode = static_cast<const c10::AutogradState*>(t.autograd)->get_grad_mode(),
                        .forward_site = r.cast_nodes.site_of(node.identity)};
  const auto native = reinterpret_cast<std::uint64_t>(caller);
  const std::uint64_t place = phase == lanes::Phase::kBackward ? mix(native, node.kind, facts.forward_site) : native;
  const CallKey key{python.hash, place, facts.pack(), python.module, region};
  Counted counted;
  if (!take_annotated(t, source, facts.to, counted)) counted = find_site(t, key, facts, caller, source);
  const bool script_parameter = standing.requires_grad && standing.leaf && r.script_weights.calls(caller);
  if (folding || script_parameter) remember_script_weight(r, source);

  const std::uint64_t begin = t.lane.now();
  const TimingOfCast timed(t, counted.site);
  Converting now(t, source, to);
  at::Tensor result = original<ToCopy>(hook)(self, dtype, layout, device, pin, non_blocking, format);
  const std::uint64_t ticks = t.lane.now() - begin;
  const std::uint64_t bytes = bytes_of(result);
  const std::uint8_t first = flag_of_first(*counted.counter);
  lanes::LaneWriter::add(counted.counter->casts, 1);
  lanes::LaneWriter::add(counted.counter->bytes, bytes);
  lanes::LaneWriter::add(counted.counter->ticks, ticks);
  remember_maker(r, result, counted.site);
  if (!t.script_open.empty()) script_casts(t, counted.site);
  // An operator may have been moved behind the end of the region whose stay it belongs to. Without a region, a run
  // counts as a stay.
  const bool weight = script_weight || script_parameter;
  const bool moved = t.region_serial == 0 && t.script_stay != 0 && t.script_sites.contains(counted.site);
  const std::uint32_t serial = std::exchange(t.region_serial, moved ? t.script_stay : t.region_serial);
  const std::uint32_t run = weight && t.region_serial == 0 ? t.script_runs * 0x9e3779b1u : 0;
  publish(t, r, lanes::EventKind::kCast, source, counted.site, begin, ticks, bytes,
          static_cast<std::uint8_t>(first | (weight ? lanes::kFlagData : 0)), run);
  t.region_serial = serial;
  if (deep()) [[unlikely]]
    g_features.cast_was_made(t, source, static_cast<std::uint8_t>(to), counted.site);
  return result;
}

// Converts a tensor without values. The calls that carry this out on the meta device belong to tracing too.
at::Tensor traced_to_copy(ThreadState& t, const at::Tensor& self, ScalarType to, optional<ScalarType> dtype,
                          optional<c10::Layout> layout, optional<c10::Device> device, optional<bool> pin,
                          bool non_blocking, Format format) {
  const TensorImpl* source = self.unsafeGetTensorImpl();
  if (is_traced(source) && !t.in_cached_cast) {
    const Standing standing = standing_of(source);
    const auto dev = static_cast<std::uint8_t>(source->device_type());
    g_features.cast_was_traced(MayWait::before_original(), t,
                               {.users = true,
                                .from = static_cast<std::uint8_t>(dtype_of(source)),
                                .to = static_cast<std::uint8_t>(to),
                                .device = dev,
                                .tensor = source,
                                .requires_grad = standing.requires_grad,
                                .leaf = standing.leaf,
                                .view = standing.view,
                                .parameter = is_parameter(source, standing),
                                .subclass = is_traced_subclass(source)});
  }
  Converting now(t, source, to);
  return original<ToCopy>(CASTSCOPE_HOOK_TO_COPY)(self, dtype, layout, device, pin, non_blocking, format);
}

template <int PythonMinor>
at::Tensor to_copy(const at::Tensor& self, optional<ScalarType> dtype, optional<c10::Layout> layout,
                   optional<c10::Device> device, optional<bool> pin, bool non_blocking, Format format) {
  ThreadState* inside = thread_slot();
  const TensorImpl* source = self.unsafeGetTensorImpl();
  if (inside != nullptr && inside->in_cached_cast && (!inside->converted || inside->conversion.source == nullptr)) {
    inside->converted = true;
    Converting now(*inside, source, dtype.value_or(dtype_of(source)));
    return original<ToCopy>(CASTSCOPE_HOOK_TO_COPY)(self, dtype, layout, device, pin, non_blocking, format);
  }
  if (dtype.has_value() && self.defined() && is_precision_cast(source, *dtype) &&
      (inside == nullptr || Converting::begins(*inside, source, *dtype)))
    if (ThreadState* t = thread_state()) {
      // Casts by TorchScript reach _to_copy without any to_*.
      const void* caller = t->to_caller != nullptr ? t->to_caller : __builtin_return_address(0);
      if (!is_traced(source) && !is_traced_on_meta(source))
        return counted_to_copy<PythonMinor>(*t, CASTSCOPE_HOOK_TO_COPY, caller, self, *dtype, dtype, layout, device,
                                            pin, non_blocking, format);
      return traced_to_copy(*t, self, *dtype, dtype, layout, device, pin, non_blocking, format);
    }
  return original<ToCopy>(CASTSCOPE_HOOK_TO_COPY)(self, dtype, layout, device, pin, non_blocking, format);
}

class InCopyKernel {
 public:
  explicit InCopyKernel(ThreadState& t) : t_(t) { t.in_copy_kernel = true; }
  ~InCopyKernel() { t_.in_copy_kernel = false; }
  InCopyKernel(const InCopyKernel&) = delete;
  InCopyKernel& operator=(const InCopyKernel&) = delete;

 private:
  ThreadState& t_;
};

// The kernel of _to_copy. torch.ops.aten._to_copy and graphs that call it (a program of torch.export that was taken
// apart) reach it through the dispatcher, not through at::_ops::_to_copy::call, which calls it too.
template <int PythonMinor>
at::Tensor to_copy_kernel(const at::Tensor& self, optional<ScalarType> dtype, optional<c10::Layout> layout,
                          optional<c10::Device> device, optional<bool> pin, bool non_blocking, Format format) {
  const TensorImpl* source = self.unsafeGetTensorImpl();
  ThreadState* t = thread_slot();
  const bool within = t != nullptr && (t->conversion.source != nullptr || t->in_cached_cast);
  if (!within && dtype.has_value() && self.defined() && is_precision_cast(source, *dtype) && !is_traced(source) &&
      !is_traced_on_meta(source) && (t = thread_state()) != nullptr &&
      !g_features.runs_known_graph(MayWait::before_original(), *t)) {
    const InCopyKernel here(*t);
    return counted_to_copy<PythonMinor>(*t, CASTSCOPE_HOOK_TO_COPY_KERNEL, __builtin_return_address(0), self, *dtype,
                                        dtype, layout, device, pin, non_blocking, format);
  }
  return original<ToCopy>(CASTSCOPE_HOOK_TO_COPY_KERNEL)(self, dtype, layout, device, pin, non_blocking, format);
}

// Notes who asked for the outermost conversion of this thread.
class Asked {
 public:
  Asked(const at::Tensor& self, optional<ScalarType> to, const void* caller) {
    if (!to.has_value() || !self.defined()) return;
    const TensorImpl* source = self.unsafeGetTensorImpl();
    if (!is_precision_cast(source, *to)) return;
    ThreadState* t = thread_state();
    if (t == nullptr || t->to_caller != nullptr) return;
    if (t->in_cached_cast && t->conversion.source == nullptr) return;
    t_ = t;
    t->to_caller = caller;
    g_features.conversion_is_asked(*t);
  }
  ~Asked() {
    if (t_ != nullptr) t_->to_caller = nullptr;
  }
  Asked(const Asked&) = delete;
  Asked& operator=(const Asked&) = delete;

 private:
  ThreadState* t_ = nullptr;
};

at::Tensor to_dtype(const at::Tensor& self, ScalarType to, bool non_blocking, bool copy, Format format) {
  Asked asked(self, to, __builtin_return_address(0));
  return original<ToDtype>(CASTSCOPE_HOOK_TO_DTYPE)(self, to, non_blocking, copy, format);
}

at::Tensor to_dtype_layout(const at::Tensor& self, optional<ScalarType> to, optional<c10::Layout> layout,
                           optional<c10::Device> device, optional<bool> pin, bool non_blocking, bool copy,
                           Format format) {
  Asked asked(self, to, __builtin_return_address(0));
  return original<ToDtypeLayout>(CASTSCOPE_HOOK_TO_DTYPE_LAYOUT)(self, to, layout, device, pin, non_blocking, copy,
                                                                 format);
}

at::Tensor to_device(const at::Tensor& self, c10::Device device, ScalarType to, bool non_blocking, bool copy,
                     Format format) {
  Asked asked(self, to, __builtin_return_address(0));
  return original<ToDevice>(CASTSCOPE_HOOK_TO_DEVICE)(self, device, to, non_blocking, copy, format);
}

at::Tensor to_other(const at::Tensor& self, const at::Tensor& other, bool non_blocking, bool copy, Format format) {
  Asked asked(self, other.defined() ? optional<ScalarType>(other.scalar_type()) : std::nullopt,
              __builtin_return_address(0));
  return original<ToOther>(CASTSCOPE_HOOK_TO_OTHER)(self, other, non_blocking, copy, format);
}

}  // namespace

namespace {

template <int PythonMinor>
void* to_copy_hook_of(castscope_hook hook) {
  if (hook == CASTSCOPE_HOOK_TO_COPY) return reinterpret_cast<void*>(&to_copy<PythonMinor>);
  return hook == CASTSCOPE_HOOK_TO_COPY_KERNEL ? reinterpret_cast<void*>(&to_copy_kernel<PythonMinor>) : nullptr;
}

}  // namespace

void* to_copy_hook(castscope_hook hook, int python_minor) {
  return for_python(python_minor, [hook]<int Minor>() { return to_copy_hook_of<Minor>(hook); });
}

void* conversion_hook(castscope_hook hook) {
  switch (hook) {
    case CASTSCOPE_HOOK_TO_DTYPE:
      return reinterpret_cast<void*>(&to_dtype);
    case CASTSCOPE_HOOK_TO_DTYPE_LAYOUT:
      return reinterpret_cast<void*>(&to_dtype_layout);
    case CASTSCOPE_HOOK_TO_DEVICE:
      return reinterpret_cast<void*>(&to_device);
    case CASTSCOPE_HOOK_TO_OTHER:
      return reinterpret_cast<void*>(&to_other);
    default:
      return nullptr;
  }
}

}  // namespace castscope::agent
