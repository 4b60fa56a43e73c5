// torch.compile, as the rest of the agent knows it. The casts of a compiled graph are known from three sources, none of
// which changes what is compiled or how it is cached: autocast's own calls while the code is traced, the texts of
// graphs that PyTorch gives out to its structured log, and the calls of compiled regions.
//
// Sources: torch/_logging/_internal.py (trace_structured), torch/_guards.py (CompileId, TracingContext),
// torch/csrc/dynamo/eval_frame.c and cpp_shim.cpp (a RecordFunction around each call of a compiled region),
// torch/_functorch/_aot_autograd/runtime_wrappers.py (CompiledFunction).
#pragma once

#include <cstdint>

#include "agent/interposed/interface.h"

namespace castscope::agent {
class MayWait;
struct SeenInTrace;
struct ThreadState;
}  // namespace castscope::agent

namespace castscope::compile {

void cast_traced(const agent::MayWait& may_wait, agent::ThreadState& t, const agent::SeenInTrace& seen) noexcept;

// The place, with its callers, that Dynamo is following; 0 where it is not known.
std::uint32_t followed_stack(const agent::MayWait& may_wait) noexcept;

// Whether this thread runs a graph whose casts are known. A backward node that Python defined takes the GIL to tell its
// name.
bool in_graph(const agent::MayWait& may_wait, const agent::ThreadState& t) noexcept;

// The agent's function for CASTSCOPE_HOOK_RECORD_FUNCTION; nullptr for any other hook.
void* hook(castscope_hook);

// Called around a fork: the begin in the thread that forks, the end in parent and child.
void fork_begins();
void fork_ends();

}  // namespace castscope::compile
