#include "agent/torchscript/tracing.h"

#include <torch/csrc/jit/frontend/source_range.h>
#include <torch/csrc/jit/frontend/tracer.h>
#include <torch/csrc/jit/ir/ir.h>

#include <algorithm>
#include <vector>

#include "agent/torchscript/known_ranges.h"

// Each node that torch.jit.trace records has a source range of its own, by which the node is recognized in every graph
// that it is copied into.
namespace castscope::script {
namespace {

using torch::jit::Node;

struct EnteredRegion {
  std::uint32_t serial = 0;
  const void* trace = nullptr;  // TracingState
  Node* last = nullptr;         // last node before the region was entered
};
thread_local std::vector<EnteredRegion> t_entered;

Node* last_node(torch::jit::tracer::TracingState& state) { return state.graph->insertPoint()->prev(); }

// Modules that are called while another is traced are blocks of its graph.
template <typename Visit>
void with_blocks(Node& node, const Visit& visit) {
  visit(node);
  for (torch::jit::Block* block : node.blocks())
    for (Node* inner : block->nodes()) with_blocks(*inner, visit);
}

bool is_call(const Node& node) {
  return node.kind() == c10::prim::CallFunction || node.kind() == c10::prim::CallMethod;
}

}  // namespace

bool is_tracing() { return torch::jit::tracer::isTracing(); }

void cast_traced(std::string_view op, std::uint32_t argument, std::string_view argument_name) {
  const auto& state = torch::jit::tracer::getTracingState();
  if (state == nullptr) return;
  Node* node = last_node(*state);
  static const auto kTo = c10::Symbol::fromQualString("aten::to");
  if (node->kind() != kTo) return;
  NodeNote what{.is_cast = true, .baked = true, .op = std::string(op), .argument = argument};
  what.argument_name = argument_name;
  what.in_own_region = std::ranges::any_of(t_entered, [&](const EnteredRegion& e) { return e.trace == state.get(); });
  note(node->sourceRange(), std::move(what));
}

void region_entered_in_trace(std::uint32_t serial) {
  const auto& state = torch::jit::tracer::getTracingState();
  if (state != nullptr) t_entered.push_back({serial, state.get(), last_node(*state)});
}

bool region_left_in_trace(std::uint32_t serial, const Region& region) {
  const auto found = std::find_if(t_entered.begin(), t_entered.end(),
                                  [&](const EnteredRegion& entered) { return entered.serial == serial; });
  if (found == t_entered.end()) return false;
  const EnteredRegion entered = *found;
  t_entered.erase(found);
  const auto& state = torch::jit::tracer::getTracingState();
  if (state == nullptr || state.get() != entered.trace) return false;
  bool calls = false;
  const auto place = region.enabled ? nullptr : std::make_shared<const Region>(region);
  // Nodes in an enabled region are marked for the region around it, which may be disabled: the innermost region counts.
  const bool marks = place != nullptr || !t_entered.empty();
  const auto look_at = [&](const Node& node) {
    calls |= is_call(node);
    if (marks && node.kind().is_aten() && note_of(node.sourceRange()) == nullptr)
      note(node.sourceRange(), {.disabled = place, .traced = true});
  };
  for (Node* node = entered.last->next(); node != state->graph->insertPoint(); node = node->next())
    with_blocks(*node, look_at);
  return calls && region.enabled;
}

}  // namespace castscope::script
