#include "agent/torch/autocast_state.h"

#include <torch/csrc/autograd/function.h>

#include "agent/torch/backward_node.h"
#include "agent/torch/own_question.h"
#include "agent/torch/tensor_facts.h"

namespace castscope::agent {

std::uint8_t autocast_dtype(std::uint8_t device) {
  OwnQuestion own;
  try {
    return static_cast<std::uint8_t>(at::autocast::get_autocast_dtype(static_cast<c10::DeviceType>(device)));
  } catch (...) {
    return 0xff;
  }
}

bool autocast_cache_enabled() { return at::autocast::is_autocast_cache_enabled(); }

bool autocast_enabled(std::uint8_t device) {
  OwnQuestion own;
  try {
    return at::autocast::is_autocast_enabled(static_cast<c10::DeviceType>(device));
  } catch (...) {
    return false;
  }
}

bool grad_mode() { return c10::AutogradState::get_tls_state().get_grad_mode(); }

bool in_backward() { return torch::autograd::get_current_graph_task_id() >= 0; }

const void* autograd_state() { return &c10::AutogradState::get_tls_state(); }

const PyObject* python_object_of(const void* tensor) { return python_object(static_cast<const TensorImpl*>(tensor)); }

const PyObject* python_object_of_base(const void* tensor) {
  const auto* impl = static_cast<const TensorImpl*>(tensor);
  return standing_of(impl).view ? python_object(base_of_view(impl)) : nullptr;
}

std::string backward_node_name() {
  const auto node = torch::autograd::get_current_node();
  return node ? std::string(short_node_name(node->name())) : std::string();
}

namespace {

NodeIdentity identity_of(const torch::autograd::Node* node) {
  return node == nullptr ? NodeIdentity{} : NodeIdentity{node, node->sequence_nr(), node->thread_id()};
}

}  // namespace

BackwardNode backward_node() {
  const auto node = torch::autograd::get_current_node();
  return {identity_of(node.get()), node ? *reinterpret_cast<const std::size_t*>(node.get()) : 0};
}

NodeIdentity node_that_made(const void* tensor) {
  const auto* meta = autograd_meta(static_cast<const TensorImpl*>(tensor));
  return identity_of(meta == nullptr ? nullptr : meta->grad_fn_.get());
}

}  // namespace castscope::agent
