// The facts known about a node of TorchScript's graphs: the region and the module that its code is in, and the argument
// that a cast serves. No torch header here.
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
  bool enabled = true;                   // as the code says
  bool planned = true;                   // the autocast pass was on when it saw it
  std::shared_ptr<const Region> around;  // the region around it in the same graph
};
using RegionPointer = std::shared_ptr<const Region>;

// A module of a graph, by the attributes that lead to it from the graph's outermost module.
struct Module {
  std::string path;             // "blocks.0"; "" = the outermost one
  std::string type, root_type;  // classes, as Python names them
  bool operator==(const Module&) const = default;
};

// The place of a graph's node in its code.
struct NodePlace {
  RegionPointer region;                  // innermost region of the graph's own; nullptr: none
  std::shared_ptr<const Module> module;  // nullptr: none
};

// The facts known about a node of a graph.
struct NodeNote {
  // For a cast: the argument that it serves.
  bool is_cast = false;
  bool baked = false;          // eager autocast made it while its code was traced, …
  bool in_own_region = false;  // … in a region of that code
  std::string op;              // "aten::linear"
  std::uint32_t argument = 0;  // position in the schema
  std::string argument_name;   // "weight"
  lanes::Role role{};          // kUnknown: the tensor tells
  RegionPointer region;        // the script's own region for which it is made; nullptr for a region of eager code
  // For an operator, and for a cast before it: the region in which the code itself switches autocast off for it.
  RegionPointer disabled;
  bool traced = false;  // … in code that was traced: the graph knows nothing of that region
  // … its arguments that may hold tensors but that the pass leaves as they come, since it only casts arguments of the
  // type Tensor: "bias: Optional[Tensor]", several with ", " in between. Empty where the pass casts none of its
  // arguments.
  std::string left;
  bool loaded = false;  // for a cast: it serves code that was traced in another process
};

}  // namespace castscope::script
