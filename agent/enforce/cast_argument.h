// A cast that a kernel of castscope's makes of an operator's argument: as at::autocast::cached_cast, and recorded as
// its calls are.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace castscope::enforce {

// `site` stands for the call site: see kernel_argument.
at::Tensor cast_argument(c10::ScalarType to, const at::Tensor& arg, c10::DeviceType device, std::uint64_t site);

}  // namespace castscope::enforce
