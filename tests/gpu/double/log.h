// The truth: what the virtual devices did, written by them and by nobody else. CASTSCOPE_NOGPU_LOG names the file.
#pragma once

#include "device.h"

namespace nogpu {

void log_execution(const Execution& execution);

}  // namespace nogpu
