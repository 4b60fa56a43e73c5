// Where TorchScript's interpreter stands in the calling thread. No torch header here.
//
// Source: torch/csrc/jit/runtime/interpreter.{h,cpp}.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "agent/torchscript/node_facts.h"

namespace castscope::script {

// Marks that the interpreter runs in a thread, or computes one node of a graph by itself. Lies on that thread's stack
// for as long.
struct Running {
  const void* python_frame = nullptr;  // which called it; nullptr without one
  const void* node = nullptr;          // torch::jit::Node, a constant of a graph that is computed
  const Running* outer = nullptr;      // Python code in between called it again
};
// The calling thread's innermost one; nullptr when none runs there, or torch.jit.fork started it: for a thread without
// Python frames, the call chain tells whether one runs.
const Running* running();
void set_running(const Running* running);
// Whether some graph has been prepared in this process.
bool in_use();
void graph_is_prepared();

// The call chain of the interpreter that runs in the calling thread, innermost first, and a hash that tells call chains
// apart; empty and 0 where no interpreter runs. A line that has been asked for keeps its hash as long as the process
// lives.
std::uint64_t call_chain_hash();
std::vector<CodeLine> call_chain();
// Whether the line that it is at was traced, not scripted; this also holds for a program that was saved.
bool at_traced_line();
// The note on the node that it is at; nullptr: nothing is known.
std::shared_ptr<const NodeNote> present_note();
std::shared_ptr<const NodePlace> present_place();

}  // namespace castscope::script
