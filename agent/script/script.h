// TorchScript, as agent/observe knows it: where its interpreter stands in a thread, and what is known of the node that
// it is at. No torch header here.
//
// Sources: torch/csrc/jit/runtime/interpreter.{h,cpp}, torch/csrc/jit/passes/autocast.cpp,
// torch/csrc/jit/frontend/tracer.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "agent/lanes/definition_records.h"
#include "agent/preload/interface.h"

namespace castscope::script {

// A line of scripted or traced code.
struct Frame {
  std::string file, function;
  std::uint32_t line = 0;
  std::uint32_t misplaced = 0;  // 0: it is in that file; else file_of() has the true one (misplaced.h)
  bool operator==(const Frame&) const = default;
};

// A region that belongs to a graph: `with torch.autocast(…)` in a script, or in code that was traced.
struct Region {
  std::vector<Frame> place;              // innermost first; empty when it is not known
  std::uint8_t device = 0;               // c10::DeviceType
  std::uint8_t dtype = 0;                // c10::ScalarType
  bool enabled = true;                   // as the code has it
  bool planned = true;                   // the autocast pass was on when it saw it
  std::shared_ptr<const Region> around;  // in the same graph
};
using RegionPointer = std::shared_ptr<const Region>;

// A module of a graph, by the attributes that lead to it from the outermost one of the graph.
struct Module {
  std::string path;             // "blocks.0"; "" = the outermost one
  std::string type, root_type;  // classes, as Python names them
  bool operator==(const Module&) const = default;
};

// Where a node of a graph stands, by its code.
struct NodePlace {
  RegionPointer region;                  // the innermost of the graph's own; nullptr: none
  std::shared_ptr<const Module> module;  // nullptr: none
};

// What is known of a node of a graph.
struct NodeNote {
  // Of a cast: the argument that it serves.
  bool is_cast = false;
  bool baked = false;          // it was made by eager autocast while its code was traced, …
  bool in_own_region = false;  // … in a region of that code
  std::string op;              // "aten::linear"
  std::uint32_t argument = 0;  // position in the schema
  std::string argument_name;   // "weight"
  lanes::Role role{};          // kUnknown: the tensor tells
  RegionPointer region;        // the script's own, for which it is made; nullptr for one of eager code
  // Of an operator, and of a cast before it: autocast is off for it by the code, not by what runs.
  RegionPointer disabled;
  bool traced = false;  // … in code that was traced: the graph knows nothing of that region
  // … its arguments that may hold tensors and that the pass leaves as they come, since it casts what has the type
  // Tensor alone: "bias: Optional[Tensor]", several with ", " in between. Empty where it casts none of the operator's.
  std::string left;
  bool loaded = false;  // of a cast: it serves code that was traced in another process
};

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
// Some graph has been prepared in this process.
bool in_use();

// Of the interpreter that runs in the calling thread, else 0 and empty. A hash by which the interpreter's present call
// chain is told from others, and the chain itself, innermost first. A line that has been asked for keeps its hash as
// long as the process lives.
std::uint64_t call_chain_hash();
std::vector<Frame> call_chain();
// The line that it is at was traced, not scripted; also of a program that was saved.
bool at_traced_line();
// Of the node that it is at; nullptr: nothing is known.
std::shared_ptr<const NodeNote> present_note();
std::shared_ptr<const NodePlace> present_place();

// torch.jit.trace records what this thread does.
bool is_tracing();
// While it does: eager autocast made this cast; a region was entered, and is left.
void cast_traced(std::string_view op, std::uint32_t argument, std::string_view argument_name);
void region_entered_in_trace(std::uint32_t serial);
// Whether scripted code was called in it, for which there is no region then.
bool region_left_in_trace(std::uint32_t serial, const Region& region);

// What stands in PyTorch's place: of CASTSCOPE_HOOK_JIT_… and FOLD_CONSTANT; nullptr for any other.
void* hook(castscope_hook);

// Around a fork, in the thread that forks; the end in parent and child.
void fork_begins();
void fork_ends();

}  // namespace castscope::script
