// Sets the dtype of autocast regions that name none.
//
// PyTorch keeps it in a thread-local array. Every thread gets its own copy of that array at its first use of autocast,
// made from what the library has in its file. Nothing can set the dtype in each new thread before torch.autocast reads
// it there. So it is set in this thread, and in the source of the copies: the thread-local image that the dynamic
// linker mapped. That costs nothing at run time, and a job that sets another dtype keeps it, as it would without us.
#pragma once

#include <c10/core/DeviceType.h>
#include <c10/core/ScalarType.h>

namespace castscope::enforce {

// Sets it for this thread, and for those that use autocast for the first time after it. False: for this thread alone.
bool set_default_dtype(c10::DeviceType device, c10::ScalarType dtype);

}  // namespace castscope::enforce
