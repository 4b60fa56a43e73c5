// The tensor in a wrapper of torch.func's transforms for gradients (at::functorch::TensorWrapper).
//
// Source: ATen/functorch/TensorWrapper.h. It is not included: by way of Interpreter.h it needs a header of
// nlohmann/json (from 2.8 on), which no wheel of PyTorch brings.
#pragma once

#include <c10/core/TensorImpl.h>

namespace castscope::agent {

// nullptr when the tensor is not such a wrapper, or when this PyTorch's wrappers keep their tensor elsewhere than all
// known ones do.
const c10::TensorImpl* inside_grad_wrapper(const c10::TensorImpl* t) noexcept;

}  // namespace castscope::agent
