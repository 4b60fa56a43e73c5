// Deep steps: when every operator is looked at. No torch header here.
#pragma once

#include <cstdint>

#include "agent/torch/attention.h"

namespace castscope::observe {
struct ThreadState;
}

namespace castscope::operators {

using observe::deep;

// Registers the callbacks, switched off: once, when the agent starts. `--deep always` looks at a job without any
// region, too, so that it can be held against one with autocast: from the first operator after `import torch`, which is
// waited for.
void start();
// In a forked child, which begins a recording of its own.
void child_begins();
// A thread enters its outermost region, or castscope.step() was called; `new_step`: a step begins here.
void region_begins(observe::ThreadState& t, bool new_step);
// A step that is yet to come begins with what runs from here on: an optimizer stepped in this thread, which is in a
// region that stays open and in no operator now. It may be called again before the step has begun.
void step_is_next(observe::ThreadState& t);
void step_has_begun();
// An optimizer made its step in this thread, which is in no operator now. What runs from here to the next region may be
// an evaluation without autocast, of which nothing else tells.
void optimizer_stepped(observe::ThreadState& t);
// The job begins to capture a CUDA graph in this thread, and ends it: what it captures is looked at.
void capture_begins(observe::ThreadState& t);
void capture_ends();
// While deep: `source` (a TensorImpl*) was cast to `to` (a c10::ScalarType) at this site.
void cast_made(observe::ThreadState& t, const void* source, std::uint8_t to, std::uint32_t site);
// The same at the first sight of a site whose values alone say what is wrong with it, in a step that is not deep;
// nothing where no step ever is.
void first_cast_of(observe::ThreadState& t, const void* source, std::uint8_t to, std::uint32_t site);
// The operator use that this thread is in the midst of, outermost, for a fact about it: defined at need. 0 = none.
std::uint32_t open_use(observe::ThreadState& t);

}  // namespace castscope::operators
