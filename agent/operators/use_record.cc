#include "agent/operators/use_record.h"

#include <optional>

#include "agent/casts/cast_record.h"
#include "agent/casts/role.h"
#include "agent/gpu/gpu.h"
#include "agent/operators/picture.h"
#include "agent/operators/rounded_integers.h"
#include "agent/operators/script_casts.h"
#include "agent/operators/values.h"
#include "agent/regions/regions.h"
#include "agent/regions/scaling.h"
#include "agent/regions/script_regions.h"
#include "agent/session/facts.h"
#include "agent/torch/autocast_state.h"
#include "agent/torch/backward_node.h"

namespace castscope::operators {
namespace {

using agent::ThreadState;
using c10::ScalarType;
using c10::TensorImpl;
using Values = c10::ArrayRef<const c10::IValue>;

constexpr auto kCuda = static_cast<std::uint8_t>(c10::DeviceType::CUDA);

// Boxed calls hand over an interpreter's whole stack: the operator's own values are the last.
Values last(Values values, std::size_t n) { return values.size() > n ? values.slice(values.size() - n) : values; }

// Calls `see` for each defined tensor, in lists too, with the position of its argument, until `see` returns false.
template <typename See>
void each_tensor(Values values, See see) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto position = static_cast<std::uint8_t>(i < 255 ? i : 255);
    if (values[i].isTensor()) {
      const at::Tensor& tensor = values[i].toTensor();
      if (tensor.defined() && !see(tensor.unsafeGetTensorImpl(), position)) return;
    } else if (values[i].isList()) {
      for (const c10::IValue& element : values[i].toListRef())
        if (element.isTensor() && element.toTensor().defined() &&
            !see(element.toTensor().unsafeGetTensorImpl(), position))
          return;
    }
  }
}

bool is_floating(std::uint8_t dtype) {
  return dtype != kNoDtype && c10::isFloatingType(static_cast<ScalarType>(dtype));
}

std::uint8_t dtype_of(const TensorImpl* tensor) { return static_cast<std::uint8_t>(agent::dtype_of(tensor)); }

std::int64_t elements_of(const TensorImpl* tensor) {
  return agent::has_plain_sizes(tensor) ? tensor->numel_default() : 0;
}

Identity identity_of(const TensorImpl* tensor) { return {tensor, agent::data_of(tensor)}; }

GivenTensor look_at(const ThreadOperators& o, const TensorImpl* tensor, std::uint8_t position) {
  const agent::Standing standing = agent::standing_of(tensor);
  GivenTensor g;
  g.identity = identity_of(tensor);
  g.argument = position;
  g.dtype = dtype_of(tensor);
  g.producer = o.producers.find(g.identity, g.dtype);
  g.leaf = standing.leaf;
  g.view = standing.view;
  g.parameter = agent::is_parameter(tensor, standing);
  bool requires_grad = standing.requires_grad;
  if (g.producer.before.dtype != kNoDtype) requires_grad = look_before_cast(g);
  if (requires_grad) g.flags |= lanes::kOperandRequiresGrad;
  if (agent::has_plain_sizes(tensor) && tensor->sizes_default().empty()) g.flags |= lanes::kOperandScalar;
  if (tensor->is_wrapped_number()) g.flags |= lanes::kOperandNumber;
  return g;
}

// The engine converts and sums up a node's gradients outside that node's own range.
std::uint32_t node_of(ThreadOperators& o) {
  if (o.node != 0 || !agent::in_backward()) return o.node;
  const std::size_t kind = agent::backward_node().kind;
  auto [at, fresh] = o.node_kinds.try_emplace(kind, 0);
  if (fresh) at->second = agent::g_process.recording.load()->definitions.string(agent::backward_node_name());
  return at->second;
}

// The innermost region around the use: a script's own, or eager code's. Where eager autocast is on, it also casts in a
// script's region that has autocast off.
std::uint32_t region_of(ThreadState& t, const OpenUse& use, bool autocast) {
  const auto place = agent::script_place(t);
  if (place != nullptr && place->region != nullptr && (place->region->enabled || !autocast)) [[unlikely]]
    if (const std::uint32_t region = agent::region_of_place(t, *place); region != 0) return region;
  const bool open = !t.open.empty() || autocast;
  return open ? agent::region_of_conversion(t, use.device) : 0;
}

PlaceKey key_of(ThreadState& t, ThreadOperators& o, const OpenUse& use, bool autocast) {
  const auto python = summary_of(t);
  PlaceKey key;
  key.stack = python.hash;
  key.module = python.module;
  key.info = use.info;
  key.region = region_of(t, use, autocast);
  key.node = node_of(o);
  const lanes::Phase phase = agent::phase_of(key.region == 0 ? lanes::Phase::kOther : lanes::Phase::kForward);
  key.more = More{phase, use.device, use.grad_mode, use.n}.pack();
  for (std::size_t i = 0; i < use.n; ++i) {
    key.tensors[i / 4] |= use.given[i].pack() << 16 * (i % 4);
    key.arguments |= std::uint64_t{use.given[i].argument} << 8 * i;
  }
  return key;
}

std::optional<ScalarType> dtype_argument(const OperatorInfo& info, Values inputs) {
  if (info.dtype_argument < 0 || static_cast<std::size_t>(info.dtype_argument) >= inputs.size()) return std::nullopt;
  const c10::IValue& value = inputs[static_cast<std::size_t>(info.dtype_argument)];
  return value.isInt() ? std::optional(static_cast<ScalarType>(value.toInt())) : std::nullopt;
}

// The dtype that autocast gave the arguments. Without autocast, the one that they were promoted to, which a floating
// result shows.
std::uint8_t computed_in(const OpenUse& use, std::uint8_t result) {
  if (use.second_call) {
    if (is_floating(use.dtype_inside)) return use.dtype_inside;
    for (std::size_t i = 0; i < use.n; ++i)
      if (is_floating(use.given[i].inside)) return use.given[i].inside;
  }
  if (is_floating(result)) return result;
  std::uint8_t widest = kNoDtype;
  for (const bool scalars : {false, true}) {
    for (std::size_t i = 0; i < use.n; ++i) {
      const GivenTensor& g = use.given[i];
      const std::uint8_t dtype = g.arrives();
      if (!is_floating(dtype) || ((g.flags & lanes::kOperandScalar) != 0) != scalars) continue;
      widest = widest == kNoDtype ? dtype
                                  : static_cast<std::uint8_t>(c10::promoteTypes(static_cast<ScalarType>(widest),
                                                                                static_cast<ScalarType>(dtype)));
    }
    if (widest != kNoDtype) break;
  }
  return widest;
}

std::uint16_t flags_of(const OpenUse& use, const TensorImpl* result, c10::DispatchKeySet keys) {
  std::uint16_t flags = use.info->flags;
  if (keys.has_any(use.info->autocast))
    flags |= lanes::kUseEligible;
  else if (!use.info->autocast.empty())
    flags |= lanes::kUseElsewhere;
  else if (keys.has_any(use.info->sibling))
    flags |= lanes::kUseSiblingEligible;
  if (use.info->base == "aten::copy_" && use.n == 2 && use.given[0].arrives() != use.given[1].arrives())
    flags |= lanes::kUseConverts;
  if (result != nullptr && elements_of(result) == 1 && use.most_elements > 1) flags |= lanes::kUseReduces;
  if (use.grad_mode)
    flags |= lanes::kUseGradMode;
  else if (!agent::g_process.recording.load(std::memory_order_relaxed)->trains.load(std::memory_order_relaxed))
    flags |= lanes::kUseBeforeTraining;
  if (use.script) flags |= lanes::kUseScript;
  if (use.others_open) flags |= lanes::kUseOthersOpen;
  return flags;
}

// The dtypes in which autocast passed on the arguments.
std::uint64_t entered_by(const OpenUse& use) {
  std::uint64_t entered = ~std::uint64_t{0};
  for (std::size_t i = 0; i < use.n; ++i)
    entered ^= std::uint64_t{static_cast<std::uint8_t>(~use.given[i].entered(use.second_call))} << 8 * i;
  return entered;
}

struct Results {
  const TensorImpl* first = nullptr;
  bool traced = false;
  std::uint64_t bytes = 0;
};
Results look_at_results(Values outputs) {
  Results r;
  each_tensor(outputs, [&](const TensorImpl* tensor, std::uint8_t) {
    if (r.first == nullptr) r.first = tensor;
    r.traced |= agent::is_traced(tensor);
    if (agent::has_plain_sizes(tensor))
      r.bytes += static_cast<std::uint64_t>(tensor->numel_default()) * tensor->itemsize();
    return !r.traced;
  });
  return r;
}

void made_by(ThreadOperators& o, Values outputs, std::uint32_t use, lanes::Phase phase) {
  each_tensor(outputs, [&](const TensorImpl* tensor, std::uint8_t) {
    o.producers.set(identity_of(tensor), {.use = use, .dtype = dtype_of(tensor), .phase = phase});
    return true;
  });
}

// An operator that gives back its first argument's values passes on that argument's producer.
void hand_on(ThreadOperators& o, const OpenUse& use, Values outputs) {
  const Producer from = use.n == 0 ? Producer{} : use.given[0].producer;
  each_tensor(outputs, [&](const TensorImpl* tensor, std::uint8_t) {
    o.producers.set(identity_of(tensor), dtype_of(tensor) == from.dtype ? from : Producer{});
    return true;
  });
}

// To the operator that takes it, the copy counts as the tensor that was cast.
void hand_on_cast(ThreadOperators& o, const GivenTensor& from, lanes::Role role, Values outputs) {
  each_tensor(outputs, [&](const TensorImpl* tensor, std::uint8_t) {
    o.producers.set(identity_of(tensor), cast_copy(from, role, dtype_of(tensor)));
    return true;
  });
}

void count_flows(ThreadState& t, ThreadOperators& o, const OpenUse& use, std::uint32_t id) {
  for (std::size_t i = 0; i < use.n; ++i) {
    const GivenTensor& g = use.given[i];
    if (g.producer.use == 0) continue;
    const std::uint8_t entered = g.entered(use.second_call);
    o.places.flow(t, g.producer.use, id, g.argument, entered == g.dtype ? kNoDtype : entered);
  }
}

bool is_half(std::uint8_t dtype) {
  return dtype == static_cast<std::uint8_t>(ScalarType::Half) ||
         dtype == static_cast<std::uint8_t>(ScalarType::BFloat16);
}

bool was_cast_down(const OpenUse& use) {
  for (std::size_t i = 0; use.second_call && i < use.n; ++i)
    if (is_half(use.given[i].inside) && !is_half(use.given[i].dtype)) return true;
  return false;
}

// The region that cast its arguments belongs to a coroutine or a generator that waits meanwhile.
void note_foreign_region(ThreadState& t, const OpenUse& use) {
  if (t.open.empty()) return;
  agent::OpenRegion& region = t.open.back();
  if (region.owner == nullptr || region.device != use.device || !was_cast_down(use)) return;
  if (agent::is_running(agent::g_process.python, t.python_thread, region.owner)) return;
  if (region.others.times++ == 0) {
    region.others.stack = use.place->use.stack;
    region.others.op = use.info->name;
  }
}

// A script's region casts in the graph: Python code that is called in it runs as if the region were not there.
void note_stopped_region(ThreadState& t, const OpenUse& use, std::uint32_t id) {
  if (!use.script || !use.keys.has_any(use.info->autocast) || agent::autocast_enabled(use.device)) return;
  const auto region = agent::region_left_by_python(t);
  if (region == nullptr || !region->enabled || !region->planned || region->device != use.device) return;
  agent::note_fact_as_known(t, {.kind = lanes::FactKind::kScriptStopsAtPython,
                                .subject = id,
                                .stack = agent::g_process.recording.load()->definitions.stack(region->place)});
}

// clip_grad_norm_ multiplies the gradients by max_norm / norm, which is 1 at most. With an infinite bound, which people
// use to measure the norm, the gradients stay as they are. The bound is a number, which is in plain memory whatever
// device the norm is on: the last number that was beside a tensor (max_norm * norm.reciprocal()).
void note_number(ThreadOperators& o, const OpenUse& use, Values inputs) {
  if (use.n != 2 || (use.given[1].flags & lanes::kOperandNumber) == 0) return;
  each_tensor(inputs, [&](const TensorImpl* tensor, std::uint8_t position) {
    if (position == use.given[1].argument) o.infinite = agent::is_infinite_number(tensor);
    return true;
  });
}

bool leaves_gradients(const ThreadOperators& o, const OperatorInfo& info) {
  return o.infinite && info.base.ends_with("mul_");
}

}  // namespace

void begin_use(const agent::MayWait& may_wait, ThreadState& t, ThreadOperators& o, OpenUse& use,
               const OperatorInfo& info, Values inputs) {
  using Kind = OperatorInfo::Kind;
  use.info = &info;
  use.place = nullptr;
  use.n = 0;
  use.script = t.script != nullptr;
  use.second_call = use.may_be_cast = false;
  use.dtype_inside = kNoDtype;
  use.most_elements = 0;
  use.begin = t.lane.now();
  inputs = last(inputs, info.arguments.size());
  bool traced = false;
  use.device = 0;
  const std::size_t most = info.kind == Kind::kUse || info.kind == Kind::kConversion ? lanes::kMostOperands : 1;
  each_tensor(inputs, [&](const TensorImpl* tensor, std::uint8_t position) {
    traced |= agent::is_traced(tensor);
    if (use.n == 0) {
      use.device = static_cast<std::uint8_t>(tensor->device_type());
      use.keys = tensor->key_set();
    }
    use.most_elements = std::max(use.most_elements, elements_of(tensor));
    if (use.n < most) {
      GivenTensor& given = use.given[use.n++] = look_at(o, tensor, position);
      given.elsewhere = static_cast<std::uint8_t>(tensor->device_type()) != use.device;
      // cast_copy() needs this after the conversion. TorchScript may have freed the tensor by then, so it is read now.
      if (use.script && info.kind == Kind::kConversion) given.parameter |= agent::is_marked_parameter(may_wait, tensor);
    }
    return !traced;
  });
  use.python_frame = info.own || !agent::g_process.has_python
                         ? nullptr
                         : agent::PythonStack::top(agent::g_process.python, t.python_thread);
  if (gpu::waits() && !traced && use.n > 0 && (use.device == kCuda || gpu::any_device())) [[unlikely]]
    gpu::device_met();
  if (traced || most == 1 || info.kind == Kind::kIgnored) return;
  note_number(o, use, inputs);
  use.grad_mode = static_cast<const c10::AutogradState*>(t.autograd)->get_grad_mode();
  const bool autocast = agent::autocast_enabled(use.device);
  use.may_be_cast = autocast && use.keys.has_any(info.autocast);
  const PlaceKey key = key_of(t, o, use, autocast);
  const agent::Recording& r = *agent::g_process.recording.load();
  use.others_open = key.region == 0 && r.steps.any_open() && r.enabled_regions.load(std::memory_order_relaxed) > 0;
  use.place = &o.places.find(may_wait, t, key, use.given.data(), use.n);
  const lanes::FactKind scaling = use.place->scaling;
  const bool nothing = scaling == lanes::FactKind::kClip && leaves_gradients(o, info);
  if (scaling != lanes::FactKind::kUnknown && !nothing) agent::note_scaling(may_wait, t, scaling);
  use.integers = integers_given(use);
  use.counting = counting_of(info, inputs);
  use.begin = t.lane.now();
}

bool note_second_call(OpenUse& outer, const OperatorInfo& info, Values inputs) {
  if (info.base != outer.info->base) return false;
  if (agent::autocast_enabled(outer.device)) return false;  // an autocast kernel excludes its own key
  outer.second_call = true;
  outer.may_be_cast = false;  // only once
  inputs = last(inputs, info.arguments.size());
  if (const auto dtype = dtype_argument(info, inputs)) outer.dtype_inside = static_cast<std::uint8_t>(*dtype);
  std::size_t i = 0;
  each_tensor(inputs, [&](const TensorImpl* tensor, std::uint8_t) {
    if (i < outer.n) outer.given[i].inside = dtype_of(tensor);
    return ++i < outer.n;
  });
  return true;
}

std::uint32_t end_use(ThreadState& t, ThreadOperators& o, OpenUse& use, c10::ArrayRef<c10::IValue> outputs,
                      std::uint64_t ticks) {
  using Kind = OperatorInfo::Kind;
  const Values results = last(Values(outputs.data(), outputs.size()), use.info->returns);
  if (use.info->kind == Kind::kSame) return hand_on(o, use, results), 0;
  const Results r = look_at_results(results);
  const std::uint8_t result = r.first == nullptr ? kNoDtype : dtype_of(r.first);
  const bool unchanged = use.info->kind == Kind::kConversion && use.n > 0 && result == use.given[0].arrives();
  if (unchanged) return hand_on(o, use, results), 0;
  if (const auto role = r.traced ? std::nullopt : role_of_script_cast(use))
    return hand_on_cast(o, use.given[0], *role, results), 0;
  const std::uint8_t computed = computed_in(use, result);
  if (use.place == nullptr || r.traced || computed == kNoDtype) return made_by(o, results, 0, {}), 0;

  const c10::DispatchKeySet keys = use.n == 0 && r.first != nullptr ? r.first->key_set() : use.keys;
  const auto device = r.first == nullptr ? std::uint8_t{0} : static_cast<std::uint8_t>(r.first->device_type());
  const Place::Use& counted =
      o.places.use(t, *use.place, {computed, result, device, flags_of(use, r.first, keys), entered_by(use)});
  if (counted.counter == nullptr) return made_by(o, results, 0, {}), 0;
  // The first call sets things up (kernels, threads, fresh memory), which would outweigh the few other calls that deep
  // steps see. It is counted with the duration of the second.
  const std::uint64_t before = counted.counter->casts.load(std::memory_order_relaxed);
  lanes::LaneWriter::add(counted.counter->casts, 1);
  lanes::LaneWriter::add(counted.counter->bytes, r.bytes);
  lanes::LaneWriter::add(counted.counter->ticks, before == 0 ? 0 : before == 1 ? 2 * ticks : ticks);
  tell_operator(t, o, use, counted.id, r.bytes, ticks);
  count_flows(t, o, use, counted.id);
  note_foreign_region(t, use);
  note_stopped_region(t, use, counted.id);
  made_by(o, results, counted.id, use.place->use.phase);
  if (is_half(result))
    note_integers(t, use.integers.sampled > 0 ? use.integers : integers_counted(use, r.first), counted.id,
                  static_cast<ScalarType>(result));
  if (result == static_cast<std::uint8_t>(ScalarType::Half)) note_values(t, r.first, counted.id, std::nullopt);
  return counted.id;
}

void forget_made_inside(ThreadOperators& o, const OpenUse& outer, c10::ArrayRef<c10::IValue> outputs,
                        std::size_t returns) {
  if (o.producers.size() == 0 || outer.n == lanes::kMostOperands) return;  // there may be more than are known
  each_tensor(last(Values(outputs.data(), outputs.size()), returns), [&](const TensorImpl* tensor, std::uint8_t) {
    const Identity made = identity_of(tensor);
    // An operator that had nothing to do gives back its argument.
    for (std::size_t i = 0; i < outer.n; ++i)
      if (outer.given[i].identity == made) return true;
    o.producers.set(made, {});
    return true;
  });
}

std::uint32_t define_open(ThreadState& t, ThreadOperators& o, OpenUse& use) {
  if (use.place == nullptr) return 0;
  const std::uint8_t computed = computed_in(use, kNoDtype);
  return o.places.use(t, *use.place, {computed, kNoDtype, 0, flags_of(use, nullptr, use.keys)}).id;
}

}  // namespace castscope::operators
