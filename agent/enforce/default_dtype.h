// The dtype of autocast regions that name none.
//
// PyTorch keeps it in a thread-local array, of which every thread gets its own copy at its first use of autocast, out
// of what the library has in its file. Nobody can be asked to set it in each thread before torch.autocast reads it
// there. So it is set in this thread, and in what the copies are made of: the thread-local image that the dynamic
// linker mapped. That costs nothing at run time, and whoever sets another dtype keeps it, as without us.
#pragma once

#include <c10/core/DeviceType.h>
#include <c10/core/ScalarType.h>

namespace castscope::enforce {

// For this thread, and those that use autocast for the first time after it. False: for this one alone.
bool set_default_dtype(c10::DeviceType device, c10::ScalarType dtype);

}  // namespace castscope::enforce
