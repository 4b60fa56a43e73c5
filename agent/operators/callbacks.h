// The RecordFunction callbacks: each operator's begin and end, and those of backward nodes.
//
// Source: aten/src/ATen/record_function.h, core/dispatch/Dispatcher.h of the PyTorch that the agent is built against.
// Arguments are seen at the begin alone, and are given back by then: nothing lives longer, and no count of references
// that PyTorch looks at is another, for having been looked at.
#pragma once

#include <cstdint>

#include "agent/operators/thread_operators.h"
#include "agent/session/thread_state.h"

namespace castscope::operators {

// The moments between which a thread's begins belong together.
struct Stretch {
  std::uint64_t number = 0;   // one for each deep step
  std::uint64_t session = 0;  // one for each switching on
};

// Who decides when operators are looked at.
struct Watcher {
  Stretch (*present_stretch)();
  // `operators` more were looked at, in so many ticks.
  void (*looked_at)(std::uint64_t operators, std::uint64_t ticks);
  // Asked for by wait_for_operator: an operator begins, in a thread that may not have the GIL.
  void (*operator_met)();
};

void add_callbacks(const Watcher& watcher);  // disabled
// Whether the first operators are told, although nothing is looked at.
void wait_for_operator(bool on);
bool waits_for_operator();
void enable_callbacks(bool on);

ThreadOperators& operators_of(observe::ThreadState& t);
// This thread is known to be in no operator now.
void begin_stretch(ThreadOperators& o);

}  // namespace castscope::operators
