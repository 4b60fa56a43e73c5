#include "agent/torchscript/graph_places.h"

#include <torch/csrc/jit/frontend/source_range.h>
#include <torch/csrc/jit/ir/ir.h>

#include "agent/torchscript/graph_modules.h"
#include "agent/torchscript/graph_regions.h"
#include "agent/torchscript/known_ranges.h"
#include "agent/torchscript/ranges.h"

namespace castscope::script {
namespace {

using torch::jit::Node;

bool is_placed(const Node& node) {
  return !node.kind().is_prim() || node.kind() == c10::prim::Exit || node.kind() == c10::prim::PythonOp ||
         node.kind() == c10::prim::RaiseException;
}

bool is_region(const RegionPointer& a, const RegionPointer& b) {
  if (a == nullptr || b == nullptr) return a == b;
  return a->place == b->place && a->device == b->device && a->dtype == b->dtype && a->enabled == b->enabled &&
         a->planned == b->planned;
}

bool is_module(const std::shared_ptr<const Module>& a, const std::shared_ptr<const Module>& b) {
  return a == nullptr || b == nullptr ? a == b : *a == *b;
}

// A graph that was cut out of another, or a function that is not told its module, knows less than what was known
// before.
NodePlace completed(NodePlace here, const NodePlace& known) {
  if (here.region == nullptr) here.region = known.region;
  if (here.module == nullptr) here.module = known.module;
  return here;
}

void place(Node& node, NodePlace here) {
  const bool ends_region = node.kind() == c10::prim::Exit;
  if (const auto known = place_of(node.sourceRange())) {
    here = completed(std::move(here), *known);
    if (is_region(here.region, known->region) && is_module(here.module, known->module)) return;
  } else if (here.region == nullptr && here.module == nullptr) {
    return;
  }
  const torch::jit::SourceRange& lines = ends_region ? node.input(0)->node()->sourceRange() : node.sourceRange();
  node.setSourceRange(own_place(node.sourceRange(), original_range(lines), std::move(here)));
}

}  // namespace

void place_nodes(torch::jit::Graph& graph) {
  const GraphModules modules(graph);
  each_node(*graph.block(), [&](Node& node, const RegionPointer& region) {
    if (is_placed(node)) place(node, {region, modules.of(node)});
  });
}

}  // namespace castscope::script
