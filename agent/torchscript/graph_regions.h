// The autocast regions that a graph itself enters: `with torch.autocast(…)` in scripted code.
//
// Source: parseAutocast and handleBlock of torch/csrc/jit/passes/autocast.cpp. A region is an object of the class
// autocast: prim::CreateObject, prim::SetAttr of _enabled, device and fast_dtype, prim::Enter and prim::Exit.
#pragma once

#include <functional>
#include <string>

#include "agent/torchscript/node_facts.h"

namespace c10 {
struct ClassType;
}
namespace torch::jit {
struct Block;
struct Node;
}  // namespace torch::jit

namespace castscope::script {

bool is_autocast_class(const c10::ClassType&);

// Each node of the graph in its order, with the innermost region around it; nullptr outside of all.
void each_node(torch::jit::Block&, const std::function<void(torch::jit::Node&, const RegionPointer&)>&);

// Returns the place at which the pass refuses the graph, since its exception names none; empty if it is not known.
std::vector<CodeLine> refused_place(torch::jit::Block&);

// A region whose dtype the pass does not know, because it is known at run time only, or not known yet: the pass
// silently takes the device's default for it.
struct IgnoredDtype {
  std::vector<CodeLine> place;
  std::uint8_t taken = 0;  // c10::ScalarType
  bool constant = false;
};
std::vector<IgnoredDtype> ignored_dtypes(torch::jit::Block&);

}  // namespace castscope::script
