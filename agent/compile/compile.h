// torch.compile, as agent/observe knows it. What a compiled graph casts is known from three sources, none of which
// changes what is compiled or how it is cached: autocast's own calls while the code is traced, the texts of graphs that
// PyTorch gives out to its structured log, and the calls of compiled regions.
//
// Sources: torch/_logging/_internal.py (trace_structured), torch/_guards.py (CompileId, TracingContext),
// torch/csrc/dynamo/eval_frame.c and cpp_shim.cpp (a RecordFunction around each call of a compiled region),
// torch/_functorch/_aot_autograd/runtime_wrappers.py (CompiledFunction).
#pragma once

#include <cstdint>

#include "agent/preload/interface.h"

namespace castscope::observe {
struct ThreadState;
}

namespace castscope::compile {

// A tensor without values was converted while code was traced.
struct SeenInTrace {
  bool users = false;  // by code, not by autocast
  std::uint8_t from = 0, to = 0, device = 0;
  std::uint32_t region = 0;
  std::uint64_t call_site = 0;  // of autocast's: its key, and its caller
  const void* caller = nullptr;
  const void* tensor = nullptr;
  bool requires_grad = false, leaf = true, view = false, parameter = false, grad_mode = true;
  bool subclass = false;  // observe::is_traced_subclass
};
// Takes the GIL: not to be called under a lock of PyTorch.
void cast_traced(observe::ThreadState& t, const SeenInTrace& seen) noexcept;

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
