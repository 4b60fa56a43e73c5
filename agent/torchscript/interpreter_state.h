// Where TorchScript's interpreter stands in the calling thread. No torch header here.
//
// Source: torch/csrc/jit/runtime/interpreter.{h,cpp}.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "agent/torchscript/node_facts.h"

namespace castscope::script {

// The interpreter runs in a thread, or works out one node of a graph by itself: lies on that thread's stack for as
// long.
struct Running {
  const void* python_frame = nullptr;  // which called it; nullptr without one
  const void* node = nullptr;          // torch::jit::Node, a constant of a graph that is worked out
  const Running* outer = nullptr;      // Python code in between called it again
};
// The calling thread's innermost; nullptr when none runs there, or one that torch.jit.fork started: whether it does in
// a thread without Python frames, the call chain tells.
const Running* running();
void set_running(const Running* running);
// Some graph has been prepared in this process.
bool in_use();
void graph_is_prepared();

// Of the interpreter that runs in the calling thread, else 0 and empty. A hash by which the interpreter's present call
// chain is told from others, and the chain itself, innermost first. A line that has been asked for keeps its hash as
// long as the process lives.
std::uint64_t call_chain_hash();
std::vector<CodeLine> call_chain();
// The line that it is at was traced, not scripted; also of a program that was saved.
bool at_traced_line();
// Of the node that it is at; nullptr: nothing is known.
std::shared_ptr<const NodeNote> present_note();
std::shared_ptr<const NodePlace> present_place();

}  // namespace castscope::script
