// While a policy is enforced, these decide the dtype of an argument and whether its copy is kept, and cast it.
#pragma once

#include <ATen/core/Tensor.h>

#include "agent/enforce/copies.h"
#include "agent/enforce/decided/decisions.h"
#include "agent/lanes/definition_records.h"

namespace castscope::enforce {

// How the copy of an argument that is to be cast is kept, if at all.
Kind kind_of_cast(const at::Tensor& arg, c10::ScalarType to, c10::DeviceType device, const Source& source);
// PyTorch's reason for not keeping the copy, unless our cache keeps it all the same.
lanes::WhyNotCached why_not_kept(lanes::WhyNotCached pytorchs, Kind kind, c10::DeviceType device);

// Casts as PyTorch's does, with our cache: `to` is not the argument's dtype, `kind` is what kind_of_cast gave. May
// throw what the cast throws.
at::Tensor cached_cast(c10::ScalarType to, const at::Tensor& arg, c10::DeviceType device, const Source& source,
                       Kind kind, Outcome& outcome);
// The same for an argument of which nothing is known yet, and for the argument of the call that returns to this
// address.
at::Tensor cached_cast(c10::ScalarType to, const at::Tensor& arg, c10::DeviceType device);
at::Tensor cached_cast_from(const void* return_address, c10::ScalarType to, const at::Tensor& arg,
                            c10::DeviceType device);

// The dtype that the policy wants where PyTorch's kernel of that operator asks for `asked`. If it is the argument's own
// dtype, the argument is left as it is.
c10::ScalarType target(const OperatorPlan& plan, c10::ScalarType asked, const at::Tensor& arg, c10::DeviceType device);

}  // namespace castscope::enforce
