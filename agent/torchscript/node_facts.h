// What is known of a node of TorchScript's graphs: the region and the module that its code is in, what a cast serves.
// No torch header here.
//
// Sources: torch/csrc/jit/passes/autocast.cpp, torch/csrc/jit/frontend/tracer.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "agent/cpython/code_line.h"
#include "agent/lanes/definition_records.h"

namespace castscope::script {

// A region that belongs to a graph: `with torch.autocast(…)` in a script, or in code that was traced.
struct Region {
  std::vector<CodeLine> place;           // innermost first; empty when it is not known
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

}  // namespace castscope::script
