// Casts an operator's argument for a kernel of castscope's: as at::autocast::cached_cast does, and recorded as its
// calls are.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace castscope::enforce {

// `site` takes the part of the call site: see kernel_argument.
at::Tensor cast_argument(c10::ScalarType to, const at::Tensor& arg, c10::DeviceType device, std::uint64_t site);

}  // namespace castscope::enforce
