#include "agent/torch/odd_tensors.h"

// Without it, SparseTensorImpl.h brings in every operator.
#define AT_PER_OPERATOR_HEADERS
#include <ATen/FunctionalTensorWrapper.h>
#include <ATen/SparseCsrTensorImpl.h>
#include <ATen/SparseTensorImpl.h>
#include <ATen/functorch/BatchedTensorImpl.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/core/impl/TorchDispatchModeTLS.h>

#include <cstring>

#include "agent/torch/grad_wrapper.h"
#include "agent/torch/tensor_layout.h"

namespace castscope::agent {
namespace {

// The tensor in one of PyTorch's own wrappers; nullptr when the tensor is not such a wrapper. Decided by dynamic_cast:
// a Python subclass may carry the same keys.
const TensorImpl* inside_of(const TensorImpl* t) {
  if (const TensorImpl* inside = inside_grad_wrapper(t)) return inside;
  const at::Tensor* value = nullptr;
  if (const auto* batched = dynamic_cast<const at::functorch::BatchedTensorImpl*>(t))
    value = &batched->value();
  else if (const auto* functional = dynamic_cast<const at::FunctionalTensorWrapper*>(t))
    value = &functional->value();
  return value == nullptr ? nullptr : value->unsafeGetTensorImpl();
}

// False for ordinary modes, under which tensors are real, and for ProxyTorchDispatchMode, which traces real tensors
// too.
bool is_tracing() {
  using c10::impl::TorchDispatchModeKey;
  using c10::impl::TorchDispatchModeTLS;
  return TorchDispatchModeTLS::get_mode(TorchDispatchModeKey::FAKE).has_value() ||
         TorchDispatchModeTLS::get_mode(TorchDispatchModeKey::FUNCTIONAL).has_value();
}

std::uint64_t plain_bytes(const TensorImpl* t) {
  return has_plain_sizes(t) ? static_cast<std::uint64_t>(t->numel_default()) * t->itemsize() : 0;
}

// PyTorch's own subclasses that stand for a tensor while code is traced.
bool stands_for_one(const PyObject* object) {
  const char* name = type_name(type_of(object));
  return std::strcmp(name, "FakeTensor") == 0 || std::strcmp(name, "FunctionalTensor") == 0;
}

}  // namespace

bool is_traced_wrapper(const TensorImpl* t) noexcept {
  while (const TensorImpl* inside = inside_of(t)) t = inside;
  if (!t->key_set().has(c10::DispatchKey::Python)) return false;
  const PyObject* object = python_object(t);
  return (object != nullptr && stands_for_one(object)) || is_tracing();
}

bool is_traced_subclass(const TensorImpl* t) noexcept {
  while (const TensorImpl* inside = inside_of(t)) t = inside;
  const PyObject* object = t->key_set().has(c10::DispatchKey::Python) ? python_object(t) : nullptr;
  return object != nullptr && !stands_for_one(object);
}

bool is_traced_on_meta(const TensorImpl* t) noexcept {
  // As FakeTensor sets it: torch._C._add_meta_to_tls_dispatch_include
  return t->key_set().has_backend(c10::BackendComponent::MetaBit) &&
         c10::impl::tls_local_dispatch_key_set().included_.has_backend(c10::BackendComponent::MetaBit);
}

std::uint64_t bytes_of_odd(const TensorImpl* t) noexcept {
  while (const TensorImpl* inside = inside_of(t)) t = inside;
  if (const auto* coo = dynamic_cast<const at::SparseTensorImpl*>(t))
    return plain_bytes(coo->values().unsafeGetTensorImpl());
  if (const auto* compressed = dynamic_cast<const at::SparseCsrTensorImpl*>(t))
    return plain_bytes(compressed->values().unsafeGetTensorImpl());
  // A jagged tensor is a Python subclass. Its storage has no memory, but has the size of its values' storage.
  if (t->key_set().has(c10::DispatchKey::NestedTensor))
    return t->has_storage() ? t->unsafe_storage().sym_nbytes().maybe_as_int().value_or(0) : 0;
  return plain_bytes(t);
}

}  // namespace castscope::agent
