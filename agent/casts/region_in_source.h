// Finds the region that a line of Python was written in by reading the source, which is all that is known of a trace
// that was saved and loaded: `with torch.autocast(…)`, and functions that are decorated with it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "agent/cpython/code_line.h"
#include "agent/cpython/python_api.h"

namespace castscope::agent {

// The line of the region that switches autocast off for this device type by a constant. No file otherwise: autocast is
// on there, or the source cannot be read or does not tell. `lines` are innermost first.
CodeLine disabled_in_source(const MayWait& may_wait, const std::vector<CodeLine>& lines, std::uint8_t device);

}  // namespace castscope::agent
