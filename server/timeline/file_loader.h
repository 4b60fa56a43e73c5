// Reads the kept events of a run file into a timeline. Meanwhile the timeline answers.
#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "server/store/run/run_data.h"
#include "server/timeline/timeline.h"

namespace castscope::timeline {

// `run` is that file's. `progress` is told the share that is read (0 … 1) after each block; an error of it ends the
// reading and is returned. Data loss: the file is damaged or cut short, and what could be read is in the timeline.
absl::Status load(const std::string& run_file, const store::RunData& run, Timeline& timeline,
                  const std::function<absl::Status(double)>& progress);

}  // namespace castscope::timeline
