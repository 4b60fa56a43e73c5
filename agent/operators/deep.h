// What agent/observe calls of this folder, and all that it knows of it. No torch header here.
#pragma once

#include <atomic>
#include <cstdint>

#include "agent/observe/attention.h"

namespace castscope::observe {
struct ThreadState;
}

namespace castscope::operators {

// Every operator is looked at, in all threads.
inline bool deep() { return (observe::attention() & observe::kLooking) != 0; }

// `--deep always` looks at a job without any region, too, so that it can be held against one with autocast: from the
// first operator after `import torch`, which is waited for.
extern std::atomic<bool> g_waits;
inline bool waits() { return g_waits.load(std::memory_order_relaxed); }
void operator_met();

// Registers the callbacks, switched off: once, when the agent starts.
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
// While deep: cached_cast returned `source` (a TensorImpl*), as this pass-through site has counted.
void pass_made(observe::ThreadState& t, const void* source, std::uint32_t site);
// The operator use that this thread is in the midst of, outermost, for a fact about it: defined at need. 0 = none.
std::uint32_t open_use(observe::ThreadState& t);

// What a thread carries here: made at its first operator.
class ThreadOperators;
struct DeleteThreadOperators {
  void operator()(ThreadOperators* o) const;
};

}  // namespace castscope::operators
