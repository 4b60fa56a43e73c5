// Writes files for speedscope.app: the casts' CPU time by stack, from exact counts, and each thread's kept events in
// time.
#pragma once

#include <ostream>
#include <string>

#include "absl/status/status.h"

namespace castscope::report {

absl::Status speedscope(const std::string& run_file, std::ostream&);

}  // namespace castscope::report
