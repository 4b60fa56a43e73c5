// What stands in the place of at::autocast::cached_cast while a policy is enforced.
#pragma once

#include <ATen/core/Tensor.h>

#include "agent/enforce/copies.h"
#include "agent/lanes/definition_records.h"

namespace castscope::enforce {

// As PyTorch's, with our cache, for an argument that is to be cast: `to` is not its dtype. May throw what the cast
// throws.
at::Tensor cached_cast(c10::ScalarType to, const at::Tensor& arg, c10::DeviceType device, const Source& source,
                       Outcome& outcome);
// The same for any argument, of which nothing is known yet.
at::Tensor cached_cast(c10::ScalarType to, const at::Tensor& arg, c10::DeviceType device);

// Why the copy is not kept: PyTorch's reason, unless our cache keeps it all the same.
lanes::WhyNotCached why_not_kept(lanes::WhyNotCached pytorchs, const at::Tensor& arg, c10::ScalarType to,
                                 const Source& source);

}  // namespace castscope::enforce
