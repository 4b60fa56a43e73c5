// Whether a run directory that somebody left behind has anything in it for this castscope.
#pragma once

#include <string>
#include <vector>

namespace castscope::relay {

// Why nothing in this run directory can be read: a sentence for each segment, of another format or damaged. None when
// one of them can be, or when there is none.
std::vector<std::string> why_unreadable(const std::string& run_directory);

}  // namespace castscope::relay
