// The checks of `castscope doctor` that are about GPUs. A machine without one is fine: most of castscope needs none.
#pragma once

#include <string>
#include <vector>

#include "server/cli/doctor/check.h"
#include "server/cli/doctor/gpu_probe.h"

namespace castscope::cli {

// `wanted`: the value of CASTSCOPE_GPU; "" = not set.
std::vector<Check> gpu_checks(const GpuInstall& gpu, const std::string& wanted);

}  // namespace castscope::cli
