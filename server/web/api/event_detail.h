// Reads one event from the run file, which has more about it than the timeline keeps in memory.
#pragma once

#include <optional>

#include "agent/lanes/format.h"
#include "server/store/run/run_data.h"
#include "server/timeline/questions/queries.h"

namespace castscope::web {

// Casts, hits, pass-throughs, operators and marks are single events in the file; a region or a step lies between two
// events. Returns nothing when the file does not keep that stretch, or cannot be read.
std::optional<lanes::Event> event_in_file(const std::string& run_file, const store::RunData& run,
                                          const timeline::FoundEvent& event);

}  // namespace castscope::web
