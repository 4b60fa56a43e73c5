// Finds out whether this castscope can read anything in a run directory that somebody left behind.
#pragma once

#include <string>
#include <vector>

namespace castscope::relay {

// Says why nothing in this run directory can be read: a sentence for each segment, which has another format or is
// damaged. Returns none when a segment can be read, or when there is none.
std::vector<std::string> why_unreadable(const std::string& run_directory);

}  // namespace castscope::relay
