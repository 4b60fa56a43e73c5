// What the recorder of a run knows and the job's segments do not tell: how the job ended, and what of it was not
// recorded. It stands in the run directory, too, so that `castscope recover` knows it, whatever becomes of the
// recorder. Only the recorder of a run writes these files, each from one thread at a time.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "server/cli/job/job_end.h"
#include "server/cli/job/run_directory.h"

namespace castscope::cli {

absl::Status keep_end(const RunDirectory& directory, const JobEnd& end);
// Returns nothing if no recorder has known it.
std::optional<JobEnd> kept_end(const RunDirectory& directory);

// Replaces what was kept before.
absl::Status keep_missing(const RunDirectory& directory, const std::vector<std::string>& sentences);
// A file that cannot be understood counts as a sentence that says so: something is missing then.
std::vector<std::string> kept_missing(const RunDirectory& directory);

}  // namespace castscope::cli
