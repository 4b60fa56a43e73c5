// Reads of a tensor that stand on the hot path, inline, without a virtual call where there is a way around it.
//
// Sources: c10/core/TensorImpl.h, torch/csrc/autograd/variable.h (AutogradMeta), aten/src/ATen/autocast_mode.cpp
// (cached_cast and its test for what may be cached), of the PyTorch that the agent is built against.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/AutogradState.h>
#include <torch/csrc/autograd/variable.h>

#include <atomic>
#include <cstring>

#include "agent/cpython/python_api.h"
#include "agent/lanes/format.h"
#include "agent/torch/odd_tensors.h"
#include "agent/torch/tensor_layout.h"

// Declared in ATen/autocast_mode.h and ATen/CachedTensorUtils.h, which bring in every operator; only these declarations
// are needed of them.
namespace at::autocast {
TORCH_API at::ScalarType get_autocast_dtype(at::DeviceType device_type);
TORCH_API bool is_autocast_cache_enabled();
TORCH_API bool is_autocast_enabled(at::DeviceType device_type);
}  // namespace at::autocast
namespace at::caching {
TORCH_API bool is_cached_tensor(const at::Tensor& t);
}
namespace torch::autograd {
TORCH_API int get_current_graph_task_id();
}

namespace castscope::agent {

using CachedCast = at::Tensor (*)(ScalarType, const at::Tensor&, c10::DeviceType);  // at::autocast::cached_cast

inline bool is_floating(ScalarType t) { return c10::isFloatingType(t); }
// Whether cached_cast may convert this dtype: floating point, not float64 (is_eligible in autocast_mode.cpp).
inline bool may_autocast(ScalarType t) { return is_floating(t) && t != ScalarType::Double; }

inline ScalarType dtype_of(const TensorImpl* t) { return c10::typeMetaToScalarType(t->dtype()); }

inline const torch::autograd::AutogradMeta* autograd_meta(const TensorImpl* t) {
  return static_cast<const torch::autograd::AutogradMeta*>(t->autograd_meta());
}

// The tensor's relation to autograd, in one byte. It goes into the key of a site, and the role is decided from it.
struct Standing {
  bool requires_grad = false, leaf = true, view = false;
};
// Left to itself, GCC calls it at each hit: 25 instructions.
[[gnu::always_inline]] inline Standing standing_of(const TensorImpl* t) {
  const auto* meta = autograd_meta(t);
  if (meta == nullptr) return {};
  const bool has_fn = static_cast<bool>(meta->grad_fn_);
  bool view = false;
  bool requires_grad = meta->requires_grad_ || has_fn;
  if (meta->is_view_) [[unlikely]] {
    view = static_cast<const torch::autograd::DifferentiableViewMeta*>(meta)->has_bw_view();
    requires_grad = meta->requires_grad();
  }
  return {requires_grad, !has_fn, view};
}

// The first reason, in the order of the enumeration, for which cached_cast will not keep the copy; kNone when it will
// keep it or already has it.
inline lanes::WhyNotCached why_not_cached(ScalarType to, ScalarType from, ScalarType region_dtype, const Standing& s,
                                          const at::Tensor& tensor, c10::DeviceType device, bool cache_enabled,
                                          bool inference_mode) {
  using lanes::WhyNotCached;
  if (inference_mode) return WhyNotCached::kInferenceMode;
  if (!cache_enabled) return WhyNotCached::kCacheDisabled;
  if (to != region_dtype) return WhyNotCached::kOtherDtype;
  if (from != ScalarType::Float) return WhyNotCached::kNotFp32;
  if (!s.requires_grad) return WhyNotCached::kNoRequiresGrad;
  if (!s.leaf) return WhyNotCached::kNotLeaf;
  if (s.view) return WhyNotCached::kView;
  // Outputs that CUDA graph trees keep exist only on CUDA: only there is the call worth its cost.
  if (device == c10::DeviceType::CUDA && at::caching::is_cached_tensor(tensor)) return WhyNotCached::kCudaGraph;
  return WhyNotCached::kNone;
}

// Whether the call belongs to tracing.
inline bool is_traced(const TensorImpl* t) {
  return t->key_set().has_any(kWrapperKeys) && [t] [[gnu::cold, gnu::noinline]] { return is_traced_wrapper(t); }();
}

// Whether the tensor is a torch.nn.Parameter by the class of its Python object, or a view whose base is one.
inline bool is_parameter_object(const TensorImpl* t) {
  const PyObject* object = python_object(t);
  if (object == nullptr) return false;
  static std::atomic<const PyObject*> parameter_type{nullptr};
  const PyObject* type = type_of(object);
  if (type == parameter_type.load(std::memory_order_relaxed)) return true;
  for (; type != nullptr; type = type_base(type)) {
    const char* name = type_name(type);
    if (std::strcmp(name, "Parameter") == 0 || std::strcmp(name, "UninitializedParameter") == 0) {
      if (type == type_of(object)) parameter_type.store(type, std::memory_order_relaxed);
      return true;
    }
    if (std::strcmp(name, "Tensor") == 0) return false;
  }
  return false;
}
// Call it only for a tensor whose Standing says view.
inline const TensorImpl* base_of_view(const TensorImpl* t) {
  const auto* meta = static_cast<const torch::autograd::DifferentiableViewMeta*>(autograd_meta(t));
  return meta->get_backward_view().base_.unsafeGetTensorImpl();
}
inline bool is_parameter(const TensorImpl* t, const Standing& s) {
  return is_parameter_object(t) || (s.view && is_parameter_object(base_of_view(t)));
}

}  // namespace castscope::agent
