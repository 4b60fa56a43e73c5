// Reads what a process has cast so far from its shared memory while it runs: exact for everything that its threads had
// done when this was called. It is for the process itself, which asks before and after a piece of its work.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace castscope::relay {

struct LiveCounts {  // what calls of cached_cast returned
  std::uint64_t casts = 0, hits = 0, passes = 0, traced = 0, bytes = 0;
};

// Returns zeros when the process has never cast, and an error when its memory cannot be read or belongs to another
// castscope.
absl::StatusOr<LiveCounts> live_counts(const std::string& run_directory, pid_t pid);

}  // namespace castscope::relay
