// castscope lets go of the process, and watches it again, when somebody asks for it on the control page
// (agent/lanes/control.h): docs/decisions/attach.md. What happens in between is not recorded, and costs nothing but the
// jumps of preload's entry points. The time that is watched without a break is a span.
//
// Both happen in a thread of the job that is about to enter its outermost region, while no other thread is in one: so a
// span has whole regions, with everything that the job does from one of them to the next. Where a job stays in a region
// for ever, castscope comes and goes within it, if that is asked for.
#pragma once

#include "agent/session/process.h"

namespace castscope::agent {

// The agent starts: to watch at once, or to be asked for it later, where its hooks are not put yet.
void begin_watching();
void begin_away();
// castscope watches from here on; called where the agent starts otherwise. `put_hooks` is called in it.
void attach(void (*put_hooks)());

// The thread is about to enter its outermost region: does what the control page asks for. Returns whether castscope has
// let go.
bool control_asks(ThreadState& t);
// An optimizer made a step in this thread.
void control_asks_within(ThreadState& t);

// The recording begins, the process ends: the first and the last span.
void span_begins_with(Recording& r);
void last_span_ends(Recording& r);

void attaching_in_child();

}  // namespace castscope::agent
