// The RecordFunction callbacks: each operator's begin and end, and those of backward nodes.
//
// Source: aten/src/ATen/record_function.h, core/dispatch/Dispatcher.h of the PyTorch that the agent is built against.
// Arguments are seen at the begin alone, and are given back by then: nothing lives longer, and no count of references
// that PyTorch looks at is another, for having been looked at.
#pragma once

#include <cstdint>

#include "agent/observe/thread_state.h"
#include "agent/operators/thread_operators.h"

namespace castscope::operators {

// The moments between which a thread's begins belong together. Set by deep.cc.
struct Stretch {
  std::uint64_t number = 0;   // one for each deep step
  std::uint64_t session = 0;  // one for each switching on
};
Stretch present_stretch();
// `operators` more were looked at, in so many ticks.
void looked_at(std::uint64_t operators, std::uint64_t ticks);

void add_callbacks();  // disabled
void enable_callbacks(bool on);

ThreadOperators& operators_of(observe::ThreadState& t);
// This thread is known to be in no operator now.
void begin_stretch(ThreadOperators& o);

}  // namespace castscope::operators
