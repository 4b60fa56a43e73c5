// Sources: torch/csrc/autograd/generated/{VariableType,Functions}.h (_to_copy), c10/core/TensorImpl.h of the PyTorch
// that the agent is built against. This is the one file that needs the generated header.
#include "agent/enforce/edges.h"

#include <c10/core/InferenceMode.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/generated/Functions.h>

#include <optional>

#include "agent/memory/own_memory.h"

namespace castscope::enforce {
namespace {

// Nodes are held by std::shared_ptr up to 2.12, by intrusive_ptr from then on.
template <typename Pointer, typename Made>
Pointer hold(Made* node) {
  if constexpr (requires { Pointer(node, [](torch::autograd::Node*) {}); })
    return Pointer(node, [](auto* n) { deleteNode(n); });
  else
    return Pointer::unsafe_steal_from_new(node);
}

}  // namespace

at::Tensor alias_of(const at::Tensor& flat, const c10::TensorImpl* source) {
  // A copy that is made in inference mode may be saved for a backward pass later.
  std::optional<c10::InferenceMode> normal;
  if (c10::InferenceMode::is_enabled()) normal.emplace(false);
  at::Tensor result =
      at::detail::make_tensor<c10::TensorImpl>(c10::Storage(flat.storage()), flat.key_set(), flat.dtype());
  c10::TensorImpl* impl = result.unsafeGetTensorImpl();
  impl->set_sizes_and_strides(source->sizes_default(), source->strides_default(), 0);
  impl->set_version_counter(flat.unsafeGetTensorImpl()->version_counter());
  return result;
}

Place place_of(const at::Tensor& copy) {
  using torch::autograd::Edge;
  return std::allocate_shared<Edge>(memory::Own<Edge>(), torch::autograd::impl::gradient_edge(copy));
}

bool give_place(const at::Tensor& copy, const Place& place) {
  const auto& edge = *static_cast<const torch::autograd::Edge*>(place.get());
  if (!edge.is_valid() || !edge.function->input_metadata(edge.input_nr).is_same_shape(copy)) return false;
  torch::autograd::impl::set_gradient_edge(copy, edge);
  return true;
}

void give_history(const at::Tensor& copy, const at::Tensor& source) {
  using namespace torch::autograd;
  auto* made = new generated::ToCopyBackward0;
  const auto node = hold<decltype(Edge::function)>(made);
  made->self_options = source.options();
  made->set_next_edges(collect_next_edges(source));
  set_history(copy, node);
}

}  // namespace castscope::enforce
