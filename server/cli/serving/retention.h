// Removes finished runs that are older than they are to be kept, or take more room than they may.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "server/cli/serving/serve_config.h"

namespace castscope::cli {

struct RemovedRun {
  std::string run_id, stem;
  std::uint64_t bytes = 0;
};

// Removes the oldest first. A run that goes on, or ended less than two minutes ago and may go on, one that another
// castscope writes, and a file that no collector made stay, whatever their age and size. `now_ns`: since 1970.
std::vector<RemovedRun> remove_what_is_over(const std::string& folder, const Retention& kept, std::int64_t now_ns);

}  // namespace castscope::cli
