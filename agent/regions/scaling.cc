#include "agent/regions/scaling.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <exception>
#include <optional>
#include <utility>

#include "agent/lanes/control.h"
#include "agent/lanes/event_views.h"
#include "agent/regions/optimizer_step.h"
#include "agent/regions/region_steps.h"
#include "agent/session/facts.h"
#include "agent/torch/originals.h"
#include "agent/torch/tensor_facts.h"
#include "agent/torch/torch_python.h"
#include "agent/wiring/features.h"

namespace castscope::agent {
namespace {

using lanes::FactKind;

// Reads a tensor of one float32 in plain memory of this process; on any other device reading would wait for it.
std::optional<double> number_in(const at::Tensor& tensor) {
  if (!tensor.defined()) return std::nullopt;
  const TensorImpl* t = tensor.unsafeGetTensorImpl();
  if (!t->is_cpu() || t->key_set().has_any(kOddKeys) || !has_plain_sizes(t) || !t->has_storage()) return std::nullopt;
  if (dtype_of(t) != ScalarType::Float || t->numel_default() != 1) return std::nullopt;
  const c10::StorageImpl* storage = t->unsafe_storage().unsafeGetStorageImpl();
  const void* data = const_cast<c10::StorageImpl*>(storage)->_mutable_data_ptr_no_checks().get();
  if (data == nullptr) return std::nullopt;
  return static_cast<const float*>(data)[t->storage_offset()];
}

// Writes an event with the scale before and after, 0 = not known.
void write_event(ThreadState& t, lanes::EventKind kind, std::uint32_t fact, double before = 0, double after = 0) {
  lanes::Event* e = t.lane.begin_event();
  if (e == nullptr) return;
  *e = lanes::Event{};
  e->time = t.lane.now();
  put(*e, lanes::ScalerEvent{before, after});
  e->site = fact;
  e->step = g_process.recording.load()->steps.current();
  e->region = t.region_serial;
  e->kind = kind;
  t.lane.publish();
}

// The detail of kUnscale. Only the job finds out whether gradients on a GPU are finite: GradScaler.step asks, and takes
// no step if they are not. kNotStepped is told when the scale is updated, and no optimizer has stepped since the
// gradients were unscaled.
enum Unscaled : std::uint16_t { kFinite = 0, kNotFinite = 1, kNotRead = 2, kNotStepped = 3 };
thread_local bool t_waits_for_step = false;

void scaler_acted(const MayWait& may_wait, FactKind kind, std::uint16_t detail, double before = 0, double after = 0) {
  Recording* r = g_process.recording.load(std::memory_order_acquire);
  if (r == nullptr) return;
  // Only these two show a step that is skipped. castscope.amp unscales after each backward pass.
  const bool steps = kind == FactKind::kUpdate || !r->steps.any_standing();
  if (steps) {
    r->steps.optimizer_stepped();
    tell_training_steps(*r);
  }
  ThreadState* t = thread_slot();
  if (t == nullptr) return;
  write_event(*t, lanes::EventKind::kScaler, note_fact(may_wait, *t, {.kind = kind, .detail = detail}), before, after);
  if (steps && !in_optimizer_step()) step_ended(*t);
}

at::Tensor& amp_update_scale(at::Tensor& scale, at::Tensor& growth_tracker, const at::Tensor& found_inf, double growth,
                             double backoff, std::int64_t interval) {
  using F = at::Tensor& (*)(at::Tensor&, at::Tensor&, const at::Tensor&, double, double, std::int64_t);
  // An update within a step belongs to a scaler that was asked before (castscope.amp).
  if (std::exchange(t_waits_for_step, false) && !in_optimizer_step())
    scaler_acted(MayWait::before_original(), FactKind::kUnscale, kNotStepped);
  const double before = number_in(scale).value_or(0);
  at::Tensor& result =
      original<F>(CASTSCOPE_HOOK_AMP_UPDATE_SCALE)(scale, growth_tracker, found_inf, growth, backoff, interval);
  scaler_acted(MayWait::no_lock_held(), FactKind::kUpdate, 0, before, number_in(scale).value_or(0));
  return result;
}

void amp_unscale(at::TensorList gradients, at::Tensor& found_inf, const at::Tensor& inverse_scale) {
  using F = void (*)(at::TensorList, at::Tensor&, const at::Tensor&);
  original<F>(CASTSCOPE_HOOK_AMP_UNSCALE)(gradients, found_inf, inverse_scale);
  const auto found = number_in(found_inf);
  t_waits_for_step = !found;
  scaler_acted(MayWait::no_lock_held(), FactKind::kUnscale, !found ? kNotRead : *found != 0 ? kNotFinite : kFinite);
}

// torch.optim wraps every optimizer's step in record_function("Optimizer.step#CLASS.step") (profile_hook_step).
constexpr std::string_view kOptimizerStep = "Optimizer.step#";
bool is_optimizer_step(const char* name) {
  return name != nullptr && std::strncmp(name, kOptimizerStep.data(), kOptimizerStep.size()) == 0;
}

// castscope.amp's handle has unscaled the gradients before: each optimizer that steps then belongs to its scaler.
bool look_for_scaler(Definitions& definitions, const RawStack& stack, lanes::FactDefinition& fact) {
  const bool within =
      definitions.passes_through(stack, [](const Definitions::Place& at) { return is_grad_scaler(at.file); });
  fact.detail = within || g_process.recording.load()->steps.any_standing() ? 1 : 0;
  return true;
}

}  // namespace

void user_scope_begins(const char* name) {
  if (!is_optimizer_step(name)) return;
  optimizer_step_begins();
  t_waits_for_step = false;
}

void user_scope_ended(const char* name) {
  if (!is_optimizer_step(name)) return;
  optimizer_step_ended();
  if (g_process.silent()) return;
  g_features.optimizer_stepped();
  Recording* r = g_process.recording.load(std::memory_order_acquire);
  if (r == nullptr || in_optimizer_step()) return;
  r->steps.optimizer_ran();
  tell_training_steps(*r);
  g_features.recorded_optimizer_stepped(*r);
  ThreadState* t = thread_slot();
  if (t == nullptr) return;
  std::string_view optimizer = std::string_view(name).substr(kOptimizerStep.size());
  optimizer = optimizer.substr(0, optimizer.rfind('.'));
  write_event(
      *t, lanes::EventKind::kOptimizer,
      note_fact(MayWait::no_lock_held(), *t, {.kind = FactKind::kOptimizerStep, .text = optimizer}, look_for_scaler));
  if (t->open.empty()) g_features.optimizer_stepped_outside(*t);
  step_ended(*t);
  const castscope_control& page = **g_process.preload->control;
  if (__atomic_load_n(&page.wanted, __ATOMIC_ACQUIRE) == CASTSCOPE_WANTED_AWAY_AT_ONCE)
    g_features.control_asks_within(*t);
}

FactKind scaling_at(const Definitions::Place& innermost, std::string_view op, bool writes) {
  if (is_grad_scaler(innermost.file)) {
    if (op == "aten::mul" && innermost.function.starts_with("GradScaler.scale")) return FactKind::kScale;
    // update(new_scale=…)
    if (innermost.function == "GradScaler.update" && (op == "aten::fill_" || op == "aten::copy_"))
      return FactKind::kUpdate;
  }
  return writes && clips_gradients(innermost.file, innermost.function) ? FactKind::kClip : FactKind::kUnknown;
}

bool is_infinite_number(const TensorImpl* t) {
  if (!t->is_cpu() || t->key_set().has_any(kOddKeys) || !t->has_storage()) return false;
  if (dtype_of(t) != ScalarType::Double || !has_plain_sizes(t) || t->numel_default() != 1) return false;
  const c10::StorageImpl* storage = t->unsafe_storage().unsafeGetStorageImpl();
  const void* data = const_cast<c10::StorageImpl*>(storage)->_mutable_data_ptr_no_checks().get();
  return data != nullptr && std::isinf(static_cast<const double*>(data)[t->storage_offset()]);
}

void note_scaling(const MayWait& may_wait, ThreadState& t, FactKind kind) {
  write_event(t, lanes::EventKind::kScaler, note_fact(may_wait, t, {.kind = kind}));
}

void* scaling_hook(castscope_hook hook) {
  switch (hook) {
    case CASTSCOPE_HOOK_AMP_UPDATE_SCALE:
      return reinterpret_cast<void*>(&amp_update_scale);
    case CASTSCOPE_HOOK_AMP_UNSCALE:
      return reinterpret_cast<void*>(&amp_unscale);
    default:
      return nullptr;
  }
}

}  // namespace castscope::agent
