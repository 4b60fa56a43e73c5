// What stands for one use of a kept copy in autograd's graph.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>

namespace castscope::enforce {

// A tensor of the sizes and strides of `source` on the memory of `flat`, its elements in the order in which those of
// `source` lie. No history. All of them share one version counter: what is written into one shows in it.
at::Tensor alias_of(const at::Tensor& flat, const c10::TensorImpl* source);

// Gives `copy` the history that `source.to(dtype)` would give it: a new ToCopyBackward0, whose gradient flows to
// `source`. It saves no tensors: any number of backward passes may run through it.
void give_history(const at::Tensor& copy, const at::Tensor& source);

// Where in the graph a copy stands, to be given to another copy of the same tensor.
using Place = std::shared_ptr<const void>;
Place place_of(const at::Tensor& copy);
// False, and nothing is done, when that tensor had other sizes.
bool give_place(const at::Tensor& copy, const Place& place);

}  // namespace castscope::enforce
