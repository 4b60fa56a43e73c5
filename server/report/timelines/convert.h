// The events of a run file (those of the kept window, or all of them) in formats that other tools read.
#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace castscope::report {

enum class EventFormat {
  kJsonLines,    // one object a line, in order of time within a lane
  kChromeTrace,  // Trace Event Format: chrome://tracing, Perfetto
};

std::optional<EventFormat> event_format(std::string_view name);  // "jsonl", "chrome"
// Data loss as in write_report().
absl::Status convert(const std::string& run_file, EventFormat, std::ostream&);

}  // namespace castscope::report
