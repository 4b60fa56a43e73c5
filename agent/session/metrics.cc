#include "agent/session/metrics.h"

#include "agent/lanes/event_views.h"
#include "agent/session/facts.h"

namespace castscope::agent {

void metric_was_told(std::string_view name, double value) {
  ThreadState* const t = g_process.silent() ? nullptr : thread_state();
  if (t == nullptr) return;
  const MayWait may_wait = MayWait::no_lock_held();
  const std::uint32_t fact = note_fact(may_wait, *t, {.kind = lanes::FactKind::kMetric, .text = name});
  lanes::Event* const e = t->lane.begin_event();
  if (e == nullptr) return;  // the fact has counted it
  *e = lanes::Event{};
  e->time = t->lane.now();
  put(*e, lanes::MetricEvent{value});
  e->site = fact;
  e->step = g_process.recording.load()->steps.current();
  e->region = t->region_serial;
  t->lane.publish();
}

}  // namespace castscope::agent
