// Reads the kept events of a run file into a timeline, which answers questions meanwhile.
#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "server/store/run/run_data.h"
#include "server/timeline/timeline.h"

namespace castscope::timeline {

// `run` is the run of that file. `progress` gets the share that has been read (0 … 1) after each block; an error from
// it ends the reading and is returned. A data loss status means that the file is damaged or cut short; everything that
// could be read is in the timeline.
absl::Status load(const std::string& run_file, const store::RunData& run, Timeline& timeline,
                  const std::function<absl::Status(double)>& progress);

}  // namespace castscope::timeline
