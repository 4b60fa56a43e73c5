#include "agent/observe/region_steps.h"

#include "agent/enforce/enforcing.h"
#include "agent/observe/autocast_state.h"
#include "agent/observe/regions.h"
#include "agent/observe/scaling.h"
#include "agent/observe/sites.h"

namespace castscope::observe {
namespace {

void begin_step(ThreadState& t, lanes::StepReason reason) {
  Recording& r = *g_process.recording.load();
  r.segment.header().steps.store(r.steps.current(), std::memory_order_relaxed);
  mark(t, lanes::EventKind::kStep, 0, static_cast<std::uint8_t>(reason));
  if (enforce::is_on()) enforce::step_begins();
}

}  // namespace

void outermost_entered(ThreadState& t, bool stands) {
  Recording& r = *g_process.recording.load();
  r.segment.update_clock_pair();
  if (g_process.has_python) r.modules.look_again();
  const bool renamed = t.renames_seen != r.modules.renames();
  drop_renamed_modules(t);
  if (enforce::is_on()) enforce::region_begins(renamed);
  const Steps::Entry entry{grad_mode(), in_backward(), in_optimizer_step(), r.weights.changed(), stands};
  const Steps::Entered entered = r.steps.outermost_enter(g_process.python, entry);
  t.entered_in = entered.era;
  if (entered.step_begins) begin_step(t, entered.reason);
  operators::region_begins(t, entered.step_begins);
}

// What an optimizer computes with is no sign that the next step has begun.
void asked_in_standing_region(ThreadState& t) {
  if (in_optimizer_step()) return;
  const Steps::Entered entered = g_process.recording.load()->steps.asked_in_standing_region(t.entered_in);
  t.entered_in = entered.era;
  if (!entered.step_begins) return;
  begin_step(t, entered.reason);
  operators::step_has_begun();
}

void step_ended(ThreadState& t) {
  if (t.open.empty() || !t.open.front().stands) return;
  forget_region(t);
  operators::step_is_next(t);
}

}  // namespace castscope::observe
