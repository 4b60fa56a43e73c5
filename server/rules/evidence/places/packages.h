// Places in installed packages, which the user may have chosen but did not write, and the switches that some libraries
// have for precision.
#pragma once

#include <string>

#include "server/store/run/run_data.h"

namespace castscope::rules {

bool is_in_package(const store::CodeLocation&);

// Returns a sentence about the library's own switch where a finding is in its code: its user cannot change the line.
// "" for other places.
std::string switch_of_library(const store::CodeLocation&);

}  // namespace castscope::rules
