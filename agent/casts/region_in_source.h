// Which region a line of Python was written in, read from its source: all there is to know of a trace that was saved
// and loaded. `with torch.autocast(…)`, and functions that are decorated so.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "agent/cpython/code_line.h"

namespace castscope::observe {

// The line of the region, where autocast is switched off for this device type by a constant; no file otherwise: where
// it is on, where the source cannot be read or does not tell. `lines` innermost first. Takes the GIL.
CodeLine disabled_in_source(const std::vector<CodeLine>& lines, std::uint8_t device);

}  // namespace castscope::observe
