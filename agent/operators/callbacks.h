// The RecordFunction callbacks: each operator's begin and end, and those of backward nodes.
//
// Source: aten/src/ATen/record_function.h, core/dispatch/Dispatcher.h of the PyTorch that the agent is built against.
// Arguments are only seen at the begin, and are given back by then: looking at them makes nothing live longer, and
// changes no reference count that PyTorch looks at.
#pragma once

#include <cstdint>

#include "agent/operators/thread_operators.h"
#include "agent/session/thread_state.h"

namespace castscope::operators {

// A span of time within which a thread's begins belong together.
struct Stretch {
  std::uint64_t number = 0;   // one for each deep step
  std::uint64_t session = 0;  // one for each switching on
};

// Decides when operators are looked at.
struct Watcher {
  Stretch (*present_stretch)();
  // Called when `operators` more were looked at, in `ticks`.
  void (*looked_at)(std::uint64_t operators, std::uint64_t ticks);
  // Called for wait_for_operator: an operator begins, in a thread that may not have the GIL.
  void (*operator_met)();
};

void add_callbacks(const Watcher& watcher);  // disabled
// Whether the first operators are reported, although nothing is looked at.
void wait_for_operator(bool on);
bool waits_for_operator();
void enable_callbacks(bool on);

ThreadOperators& operators_of(agent::ThreadState& t);
// Called when this thread is known to be in no operator.
void begin_stretch(ThreadOperators& o);

}  // namespace castscope::operators
