// The place in autograd's graph that one use of a kept copy takes.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>

namespace castscope::enforce {

// A tensor with the sizes and strides of `source` on the memory of `flat`, whose elements are in the order in which
// those of `source` lie. It has no history. All such tensors share one version counter: a write into one shows in all.
at::Tensor alias_of(const at::Tensor& flat, const c10::TensorImpl* source);

// Gives `copy` the history that `source.to(dtype)` would give it: a new ToCopyBackward0, whose gradient flows to
// `source`. The node saves no tensors: any number of backward passes may run through it.
void give_history(const at::Tensor& copy, const at::Tensor& source);

// A copy's place in the graph, to be given to another copy of the same tensor.
using Place = std::shared_ptr<const void>;
Place place_of(const at::Tensor& copy);
// Returns false, and does nothing, when that tensor had other sizes.
bool give_place(const at::Tensor& copy, const Place& place);

}  // namespace castscope::enforce
