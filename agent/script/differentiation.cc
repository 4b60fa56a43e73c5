// Where a graph is to be differentiated, PyTorch puts a body that it wrote in TorchScript in the place of many an
// operator, the casts of the autocast pass among them (torch/csrc/jit/runtime/symbolic_script.cpp). Its nodes say a
// line of that text; from here on they say the line of the operator that they stand for. That is data for debugging
// only.
#include <torch/csrc/jit/ir/ir.h>

#include <algorithm>
#include <exception>
#include <vector>

#include "agent/observe/hooks.h"
#include "agent/observe/process.h"
#include "agent/script/graph_hooks.h"
#include "agent/script/known_ranges.h"

namespace castscope::script {
namespace {

using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;
using Values = c10::ArrayRef<Value*>;
using InsertGraph = std::vector<Value*> (*)(Graph&, Graph&, Values);

// The operator whose inputs the body is given; it stands before the place where the body goes.
Node* replaced(Graph& graph, Values inputs) {
  Node* before = graph.insertPoint()->prev();
  if (before->kind() == c10::prim::Param || before->kind() == c10::prim::Return) return nullptr;
  const auto given = before->inputs();
  return std::equal(given.begin(), given.end(), inputs.begin(), inputs.end()) ? before : nullptr;
}

void give_places(Node* op, const Node* end) {
  for (Node* node = op->next(); node != end; node = node->next()) {
    mark_as_pytorchs(node->sourceRange());
    node->setSourceRange(op->sourceRange());
    if (const auto chain = op->callstack()) node->setCallStack(*chain);
  }
}

std::vector<Value*> insert_graph(Graph& graph, Graph& body, Values inputs) {
  const auto insert = observe::original<InsertGraph>(CASTSCOPE_HOOK_JIT_INSERT_GRAPH);
  Node* op = observe::g_process.stopped.load(std::memory_order_relaxed) ? nullptr : replaced(graph, inputs);
  const Node* end = graph.insertPoint();
  std::vector<Value*> outputs = insert(graph, body, inputs);
  try {
    if (op != nullptr) give_places(op, end);
  } catch (const std::exception&) {  // out of memory: its nodes keep the lines that they have
  }
  return outputs;
}

}  // namespace

void* insert_graph_hook() { return reinterpret_cast<void*>(&insert_graph); }

}  // namespace castscope::script
