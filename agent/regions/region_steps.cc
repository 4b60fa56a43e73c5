#include "agent/regions/region_steps.h"

#include "agent/regions/optimizer_step.h"
#include "agent/session/marks.h"
#include "agent/session/renamed_modules.h"
#include "agent/torch/autocast_state.h"
#include "agent/wiring/features.h"

namespace castscope::agent {
namespace {

void begin_step(ThreadState& t, lanes::StepReason reason) {
  Recording& r = *g_process.recording.load();
  r.segment.header().present_step.store(r.steps.current(), std::memory_order_relaxed);
  tell_training_steps(r);
  mark(t, lanes::EventKind::kStep, 0, static_cast<std::uint8_t>(reason));
  g_features.step_begins();
}

}  // namespace

void tell_training_steps(Recording& r) {
  r.segment.header().training_steps.store(r.steps.trained(), std::memory_order_relaxed);
}

void outermost_entered(ThreadState& t, bool stands, std::uint32_t place) {
  Recording& r = *g_process.recording.load();
  r.segment.update_clock_pair();
  if (g_process.has_python) r.modules.look_again();
  const bool renamed = t.renames_seen != r.modules.renames();
  drop_renamed_modules(t);
  g_features.outermost_region_is_entered(renamed);
  const Steps::Entry entry{grad_mode(), in_backward(), in_optimizer_step(), r.weights.changed(), stands, place};
  const Steps::Entered entered = r.steps.outermost_enter(g_process.python, entry);
  t.entered_in = entered.era;
  if (entered.step_begins) begin_step(t, entered.reason);
  g_features.outermost_region_began(t, entered.step_begins);
}

// Casts within an optimizer's step do not mean that the next step has begun.
void asked_in_standing_region(ThreadState& t) {
  if (in_optimizer_step()) return;
  const Steps::Entered entered = g_process.recording.load()->steps.asked_in_standing_region(t.entered_in);
  t.entered_in = entered.era;
  if (!entered.step_begins) return;
  begin_step(t, entered.reason);
  g_features.step_has_begun();
}

void step_ended(ThreadState& t) {
  if (t.open.empty() || !t.open.front().stands) return;
  forget_region(t);
  g_features.step_is_next(t);
}

void last_step_ended(ThreadState& t) {
  Recording& r = *g_process.recording.load();
  if (!r.steps.ended_with_unseen_step(r.weights.changed())) return;
  r.steps.optimizer_stepped();
  tell_training_steps(r);
  mark(t, lanes::EventKind::kOptimizer, 0);
}

}  // namespace castscope::agent
