// What `castscope doctor` says of GPUs. None at all is no fault: most of castscope needs none.
#pragma once

#include <string>
#include <vector>

#include "server/cli/doctor/gpu_probe.h"

namespace castscope::cli {

struct Check {
  std::string name, state, found, mend;  // state: ok, warning, problem
};

// `wanted`: the value of CASTSCOPE_GPU; "" = not set.
std::vector<Check> gpu_checks(const GpuInstall& gpu, const std::string& wanted);

}  // namespace castscope::cli
