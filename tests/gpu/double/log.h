// The true history: only the virtual devices themselves write what they did. CASTSCOPE_NOGPU_LOG names the file.
#pragma once

#include "device.h"

namespace nogpu {

void log_execution(const Execution& execution);

}  // namespace nogpu
