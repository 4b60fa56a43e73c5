// The kept events as JSON lines: one object a line, in order of time within a lane.
#pragma once

#include <ostream>
#include <string>

#include "absl/status/status.h"

namespace castscope::report {

absl::Status json_lines(const std::string& run_file, std::ostream&);

}  // namespace castscope::report
