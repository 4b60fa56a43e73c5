// The GPUs that the process has.
#pragma once

#include <string>
#include <vector>

namespace castscope::gpu {

// "0 NVIDIA H100 80GB HBM3, compute capability 9.0", in CUDA's order. Asks the driver, which the job has initialized.
// Asks the linker, so do not call it in a thread that may have the GIL.
std::vector<std::string> device_names();

}  // namespace castscope::gpu
