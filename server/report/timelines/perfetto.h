// The kept events as a Perfetto trace: its protobuf format with track events and interned names
// (docs/decisions/timeline-exports.md), which takes a fraction of the room of JSON.
#pragma once

#include <ostream>
#include <string>

#include "absl/status/status.h"

namespace castscope::report {

absl::Status perfetto_trace(const std::string& run_file, std::ostream&);

}  // namespace castscope::report
