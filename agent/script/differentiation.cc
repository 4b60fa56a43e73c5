// Where a graph is to be differentiated, PyTorch replaces many operators, among them the casts of the autocast pass,
// with a body that it wrote in TorchScript (torch/csrc/jit/runtime/symbolic_script.cpp). The nodes of that body name a
// line of its text. From here on they name the line of the operator that they stand for, or whose gradient they
// compute. Lines are for debugging only.
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/ir/scope.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

#include "agent/script/graph_hooks.h"
#include "agent/session/process.h"
#include "agent/torch/originals.h"
#include "agent/torchscript/known_ranges.h"

namespace castscope::script {
namespace {

using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;
using Values = c10::ArrayRef<Value*>;
using InsertGraph = std::vector<Value*> (*)(Graph&, Graph&, Values);

// The operator that has the body's inputs; it stands before the place where the body goes.
Node* replaced(Graph& graph, Values inputs) {
  Node* before = graph.insertPoint()->prev();
  if (before->kind() == c10::prim::Param || before->kind() == c10::prim::Return) return nullptr;
  const auto given = before->inputs();
  return std::equal(given.begin(), given.end(), inputs.begin(), inputs.end()) ? before : nullptr;
}

// The operator that was replaced last in this thread: the body of its gradient comes next.
struct Replaced {
  const Graph* graph = nullptr;
  torch::jit::SourceRange range;
  std::optional<torch::jit::InlinedCallStackPtr> chain;
};
thread_local Replaced t_replaced;

void give_places(Node* first, const Node* end, const Replaced& place) {
  for (Node* node = first; node != end; node = node->next()) {
    mark_as_pytorchs(node->sourceRange());
    node->setSourceRange(place.range);
    if (place.chain.has_value()) node->setCallStack(*place.chain);
  }
}

// Whether the inputs are the gradients, preceded by what the operator's body has kept for them.
bool is_gradient_of(const Replaced& replaced, const Graph& graph, Values inputs) {
  if (replaced.graph != &graph || inputs.empty()) return false;
  const Node& kept = *inputs.front()->node();
  return kept.kind() == c10::prim::TupleUnpack || kept.sourceRange().source() == replaced.range.source();
}

void look_at_inserted(Node* op, Node* before, const Node* end, Graph& graph, Values inputs) {
  const Replaced last = std::exchange(t_replaced, {});
  if (op != nullptr) {
    t_replaced = {&graph, op->sourceRange(), op->callstack()};
    give_places(op->next(), end, t_replaced);
  } else if (is_gradient_of(last, graph, inputs)) {
    give_places(before->next(), end, last);
  }
}

std::vector<Value*> insert_graph(Graph& graph, Graph& body, Values inputs) {
  const auto insert = agent::original<InsertGraph>(CASTSCOPE_HOOK_JIT_INSERT_GRAPH);
  if (agent::g_process.silent()) return insert(graph, body, inputs);
  Node* const op = replaced(graph, inputs);
  Node* const before = graph.insertPoint()->prev();
  const Node* end = graph.insertPoint();
  std::vector<Value*> outputs = insert(graph, body, inputs);
  try {
    look_at_inserted(op, before, end, graph, inputs);
  } catch (const std::exception&) {  // out of memory: the nodes keep their lines
  }
  return outputs;
}

}  // namespace

void* insert_graph_hook() { return reinterpret_cast<void*>(&insert_graph); }

}  // namespace castscope::script
