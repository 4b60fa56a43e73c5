// For speedscope.app: the casts' CPU time by stack, of exact counts, and each thread's kept events in time.
#pragma once

#include <ostream>
#include <string>

#include "absl/status/status.h"

namespace castscope::report {

absl::Status speedscope(const std::string& run_file, std::ostream&);

}  // namespace castscope::report
