// torch.compile, as the rest of the agent knows it. What a compiled graph casts is known from three sources, none of
// which changes what is compiled or how it is cached: autocast's own calls while the code is traced, the texts of
// graphs that PyTorch gives out to its structured log, and the calls of compiled regions.
//
// Sources: torch/_logging/_internal.py (trace_structured), torch/_guards.py (CompileId, TracingContext),
// torch/csrc/dynamo/eval_frame.c and cpp_shim.cpp (a RecordFunction around each call of a compiled region),
// torch/_functorch/_aot_autograd/runtime_wrappers.py (CompiledFunction).
#pragma once

#include <cstdint>

#include "agent/interposed/interface.h"

namespace castscope::observe {
struct SeenInTrace;
struct ThreadState;
}  // namespace castscope::observe

namespace castscope::compile {

// Takes the GIL: not to be called under a lock of PyTorch.
void cast_traced(observe::ThreadState& t, const observe::SeenInTrace& seen) noexcept;

// While Dynamo follows code: where that is, with its callers; 0 where it is not known. Takes the GIL.
std::uint32_t followed_stack() noexcept;

// Whether this thread runs a graph of which is known what it casts. May take the GIL, in a backward node of Python's.
bool in_graph(const observe::ThreadState& t) noexcept;

// What stands in PyTorch's place: of CASTSCOPE_HOOK_RECORD_FUNCTION; nullptr for any other.
void* hook(castscope_hook);

// Around a fork, in the thread that forks; the end in parent and child.
void fork_begins();
void fork_ends();

}  // namespace castscope::compile
