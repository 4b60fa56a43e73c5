// What the run file still has of one event: more than the timeline keeps in memory.
#pragma once

#include <optional>

#include "agent/lanes/format.h"
#include "server/store/run/run_data.h"
#include "server/timeline/questions/queries.h"

namespace castscope::web {

// Casts, hits, pass-throughs, operators and marks are events by themselves; regions and steps lie between two. Nothing
// when the file does not keep that stretch, or cannot be read.
std::optional<lanes::Event> event_in_file(const std::string& run_file, const store::RunData& run,
                                          const timeline::FoundEvent& event);

}  // namespace castscope::web
