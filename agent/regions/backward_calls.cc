// The calls of backward. Tensor.backward, autograd.backward and autograd.grad all end in Engine::execute
// (torch/csrc/autograd/engine.cpp), which Python's engine calls through the PLT, with the GIL released.
#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/function.h>

#include <string>
#include <string_view>
#include <vector>

#include "agent/regions/hooks.h"
#include "agent/regions/regions.h"
#include "agent/session/facts.h"
#include "agent/session/marks.h"
#include "agent/torch/autocast_state.h"
#include "agent/torch/originals.h"
#include "agent/torch/tensor_facts.h"

namespace castscope::agent {
namespace {

// A member function that returns a vector, with the arguments that the machine sees: result, this, the rest.
using Tensors = std::vector<at::Tensor>;
using Execute = Tensors (*)(void* engine, const void* roots, const Tensors& gradients, bool keep_graph,
                            bool create_graph, bool accumulate, const void* outputs);

std::uint32_t region_of_caller(ThreadState& t) {
  if (!t.open.empty()) return region_of_conversion(t, t.open.back().device);
  for (std::uint8_t device = 0; device < t.enabled_by_raw.size(); ++device)
    if (t.enabled_by_raw[device] == 1) return find_region(t, device);
  return 0;
}

bool is_tracing(const Tensors& gradients) {
  for (const at::Tensor& gradient : gradients)
    if (gradient.defined() && is_traced(gradient.unsafeGetTensorImpl())) return true;
  return false;
}

// The texts of the fact, if one of these signs was found.
constexpr std::string_view kLossIsProduct = "the loss is a product",
                           kGradientsGiven = "gradients of the loss are given";

using Roots = torch::autograd::edge_list;
thread_local const Roots* t_roots = nullptr;  // roots of the call that is being noted

// Nodes through which the loss stays a product: an average over the steps of an accumulation, a sign, a copy.
bool hands_on(std::string_view node) {
  return node.starts_with("DivBackward") || node.starts_with("NegBackward") || node.starts_with("ToCopyBackward") ||
         node.starts_with("CloneBackward") || node.starts_with("ViewBackward");
}

bool is_product(const torch::autograd::Node* node) {
  constexpr int kFar = 4;
  for (int i = 0; node != nullptr && i < kFar; ++i) {
    const std::string name = node->name();
    if (name.starts_with("MulBackward")) return true;
    if (!hands_on(name) || node->num_outputs() == 0) return false;
    node = node->next_edge(0).function.get();
  }
  return false;
}

// autograd.backward(tensors, grad_tensors): whether gradients of the tensors were given, not None. (A local that is a
// cell would not be known.)
bool gives_gradients(Definitions& definitions, const RawStack& stack) {
  const PythonApi& api = g_process.python;
  for (std::uint32_t i = 0; i < stack.depth; ++i) {
    const Definitions::Place at = definitions.place(stack.frames[i].code);
    if (at.function != "backward" || !at.file.ends_with("/torch/autograd/__init__.py")) continue;
    const void* given = PythonStack::self_of(api, stack.frames[i].frame, 1);
    if (given == nullptr || given == api.none) return false;
    return std::string_view(type_name(type_of(static_cast<const PyObject*>(given)))) != "cell";
  }
  return false;
}

// Looks for signs that the job scales the loss by hand.
bool look_for_scaling(Definitions& definitions, const RawStack& stack, lanes::FactDefinition& fact) {
  for (const torch::autograd::Edge& root : *t_roots)
    if (is_product(root.function.get())) fact.text = definitions.string(kLossIsProduct);
  if (fact.text == 0 && gives_gradients(definitions, stack)) fact.text = definitions.string(kGradientsGiven);
  return true;
}

// A thread that cast nothing and entered nothing does not get a recording only because it calls backward.
void note_backward(const MayWait& may_wait, const Roots& roots, const Tensors& gradients, bool accumulate) {
  ThreadState* t = thread_slot();
  if (t == nullptr || t->ignoring || in_backward() || is_tracing(gradients)) return;
  g_process.recording.load(std::memory_order_relaxed)->trains.store(true, std::memory_order_relaxed);
  t_roots = &roots;
  const std::uint32_t fact = note_fact(may_wait, *t,
                                       {.kind = lanes::FactKind::kBackward,
                                        .detail = static_cast<std::uint16_t>(accumulate ? 0 : 1),
                                        .subject = region_of_caller(*t)},
                                       look_for_scaling);
  if (accumulate) mark(*t, lanes::EventKind::kBackward, fact);
}

Tensors execute(void* engine, const void* roots, const Tensors& gradients, bool keep_graph, bool create_graph,
                bool accumulate, const void* outputs) {
  note_backward(MayWait::before_original(), *static_cast<const Roots*>(roots), gradients, accumulate);
  return original<Execute>(CASTSCOPE_HOOK_ENGINE_EXECUTE)(engine, roots, gradients, keep_graph, create_graph,
                                                          accumulate, outputs);
}

}  // namespace

void* engine_hook() { return reinterpret_cast<void*>(&execute); }

}  // namespace castscope::agent
