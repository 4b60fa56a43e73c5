// The function that stands in place of at::autocast::cached_cast while a policy is enforced.
#pragma once

namespace castscope::enforce {

// The Python version picks the stack walk. From then on, casts by our kernels are recorded with the same walk.
void* cached_cast_hook(int python_minor);

}  // namespace castscope::enforce
