// Deep steps, in which every operator is looked at. No torch header here.
#pragma once

#include <cstdint>

#include "agent/torch/attention.h"

namespace castscope::agent {
struct ThreadState;
}

namespace castscope::operators {

using agent::deep;

// Registers the callbacks, switched off; call it once, when the agent starts. `--deep always` looks at a job without
// any region, too, so that it can be compared with one that has autocast: from the first operator after `import torch`,
// which is waited for.
void start();
// Somebody asks for so many more deep steps: the next ones that begin.
void want_steps(std::uint32_t more);
// castscope lets go of the process: nothing is looked at until it watches again.
void let_go(agent::ThreadState& t);
// Called in a forked child, which begins a recording of its own.
void child_begins();
// A thread enters its outermost region, or castscope.step() was called; `new_step`: a step begins here.
void region_begins(agent::ThreadState& t, bool new_step);
// The next step begins with what runs from here on: an optimizer stepped in this thread, which is in a region that
// stays open and in no operator now. It may be called again before the step has begun.
void step_is_next(agent::ThreadState& t);
void step_has_begun();
// An optimizer made its step in this thread, which is in no operator now. The code from here to the next region may be
// an evaluation without autocast, and nothing else tells of that.
void optimizer_stepped(agent::ThreadState& t);
// The job begins to capture a CUDA graph in this thread, and ends the capture: what it captures is looked at.
void capture_begins(agent::ThreadState& t);
void capture_ends();
// While deep: `source` (a TensorImpl*) was cast to `to` (a c10::ScalarType) at this site.
void cast_made(agent::ThreadState& t, const void* source, std::uint8_t to, std::uint32_t site);
// The same at the first sight of a site whose values alone show what is wrong with it, in a step that is not deep. Does
// nothing in a job in which no step is ever deep.
void first_cast_of(agent::ThreadState& t, const void* source, std::uint8_t to, std::uint32_t site);
// This thread is about to make a cast, or to call an operator, that it meets for the first time: code in which no
// operator was ever looked at is looked at from here on.
void code_is_met(agent::ThreadState& t, std::uint64_t stack, const void* module);
// The same for a conversion that a line asks for: its operator is the first that is looked at.
void conversion_is_asked(agent::ThreadState& t);
// The outermost operator use that this thread is in the midst of, for a fact about it; defined at need. 0 = none.
std::uint32_t open_use(agent::ThreadState& t);

}  // namespace castscope::operators
