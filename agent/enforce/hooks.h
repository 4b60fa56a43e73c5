// What stands in the place of at::autocast::cached_cast while a policy is enforced.
#pragma once

namespace castscope::enforce {

// The Python version picks the stack walk. What kernels of ours cast is recorded with the same one from then on.
void* cached_cast_hook(int python_minor);

}  // namespace castscope::enforce
