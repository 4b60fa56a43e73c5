// Where backward is called: Tensor.backward, autograd.backward and autograd.grad all end in Engine::execute
// (torch/csrc/autograd/engine.cpp), which the engine of Python calls through the PLT, with the GIL released.
#include <ATen/core/Tensor.h>

#include <vector>

#include "agent/observe/autocast_state.h"
#include "agent/observe/facts.h"
#include "agent/observe/hooks.h"
#include "agent/observe/regions.h"
#include "agent/observe/tensor_facts.h"

namespace castscope::observe {
namespace {

// A member function that returns a vector, called as what it is to the machine: result, this, the rest.
using Tensors = std::vector<at::Tensor>;
using Execute = Tensors (*)(void* engine, const void* roots, const Tensors& gradients, bool keep_graph,
                            bool create_graph, bool accumulate, const void* outputs);

std::uint32_t region_of_caller(ThreadState& t) {
  if (!t.open.empty()) return region_in_force(t, t.open.back().device, kNotAutocasts);
  for (std::uint8_t device = 0; device < t.enabled_by_raw.size(); ++device)
    if (t.enabled_by_raw[device] == 1) return find_region(t, device);
  return 0;
}

bool is_tracing(const Tensors& gradients) {
  for (const at::Tensor& gradient : gradients)
    if (gradient.defined() && is_traced(gradient.unsafeGetTensorImpl())) return true;
  return false;
}

// A thread that cast nothing and entered nothing has no recording for having a backward pass.
void note_backward(const Tensors& gradients, bool accumulate) {
  ThreadState* t = thread_slot();
  if (t == nullptr || t->ignoring || in_backward() || is_tracing(gradients)) return;
  const std::uint32_t fact = note_fact(*t, {.kind = lanes::FactKind::kBackward,
                                            .detail = static_cast<std::uint16_t>(accumulate ? 0 : 1),
                                            .subject = region_of_caller(*t)});
  if (accumulate) mark(*t, lanes::EventKind::kBackward, fact);
}

Tensors execute(void* engine, const void* roots, const Tensors& gradients, bool keep_graph, bool create_graph,
                bool accumulate, const void* outputs) {
  note_backward(gradients, accumulate);
  return original<Execute>(CASTSCOPE_HOOK_ENGINE_EXECUTE)(engine, roots, gradients, keep_graph, create_graph,
                                                          accumulate, outputs);
}

}  // namespace

void* engine_hook() { return reinterpret_cast<void*>(&execute); }

}  // namespace castscope::observe
