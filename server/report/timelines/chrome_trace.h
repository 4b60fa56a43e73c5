// The kept events in the Trace Event Format, which chrome://tracing and Perfetto read.
#pragma once

#include <ostream>
#include <string>

#include "absl/status/status.h"

namespace castscope::report {

absl::Status chrome_trace(const std::string& run_file, std::ostream&);

}  // namespace castscope::report
