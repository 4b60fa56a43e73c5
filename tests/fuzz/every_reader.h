// What castscope makes of a run file that somebody gives it.
#pragma once

#include <string>

#include "tests/fuzz/bytes.h"

namespace castscope::fuzz {

// Reads the file in one of the ways in which castscope reads files, which `bytes` chooses: as the list of runs does, as
// a viewer does, for its events, to go on with it, or for one of the forms of a report. What is refused has to be
// refused in a sentence; a form in JSON has to be JSON.
void read_in_one_way(const std::string& path, Bytes& bytes);

}  // namespace castscope::fuzz
