#include "agent/start/listen.h"

#include "agent/casts/stale_copies.h"
#include "agent/compile/compile.h"
#include "agent/enforce/enforcing.h"
#include "agent/enforce/kernel_registry.h"
#include "agent/gpu/gpu.h"
#include "agent/operators/deep.h"
#include "agent/operators/picture.h"
#include "agent/regions/regions.h"
#include "agent/start/attaching.h"
#include "agent/start/process_description.h"
#include "agent/wiring/features.h"

namespace castscope::agent {
namespace {

void listen_always() {
  g_features.python_is_strange = notice_strange_python;
  g_features.process_is_described = describe_process;
  g_features.thread_goes_on = regions_inherited;
  g_features.thread_ends = [](ThreadState& t) { regions_abandoned(t, true); };
  g_features.span_begins = span_begins_with;
  g_features.control_asks = control_asks;
  g_features.control_asks_within = control_asks_within;
  g_features.outermost_region_began = operators::region_begins;
  g_features.step_has_begun = operators::step_has_begun;
  g_features.step_is_next = operators::step_is_next;
  g_features.recorded_optimizer_stepped = copies_may_be_stale;
  g_features.optimizer_stepped_outside = operators::optimizer_stepped;
  g_features.cast_was_made = operators::cast_made;
  g_features.pass_was_made = operators::pass_made;
  g_features.first_cast_was_made = operators::first_cast_of;
  g_features.code_is_met = operators::code_is_met;
  g_features.conversion_is_asked = operators::conversion_is_asked;
  g_features.timed_cast_begins = gpu::cast_begins;
  g_features.timed_cast_ends = gpu::cast_ends;
  g_features.cast_was_traced = compile::cast_traced;
  g_features.followed_stack = compile::followed_stack;
  g_features.runs_known_graph = compile::in_graph;
  g_features.capture_begins = operators::capture_begins;
  g_features.capture_ends = operators::capture_ends;
}

void listen_for_policy() {
  g_features.recording_begins = enforce::recording_begins;
  g_features.outermost_region_is_entered = enforce::region_begins;
  g_features.step_begins = enforce::step_begins;
  g_features.optimizer_stepped = enforce::optimizer_stepped;
  g_features.cache_was_cleared = enforce::cache_cleared;
  g_features.plan_of_call = enforce::plan_of_call;
  g_features.kernel_argument = enforce::kernel_argument;
}

}  // namespace

void listen(bool enforced) {
  listen_always();
  if (enforced) listen_for_policy();
}

}  // namespace castscope::agent
