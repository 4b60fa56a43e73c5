// What `castscope run` says when the job has ended and the run was recorded.
#pragma once

#include "server/cli/commands/run_options.h"
#include "server/cli/job/run_directory.h"
#include "server/cli/recording/recording.h"

namespace castscope::cli {

// Says where the run is, or what is left of it and where, and prints the summary of a run that was recorded here. The
// run directory goes, unless something of the run is nowhere else.
void report_end(const RunOptions& options, const RunDirectory& directory, const RecordingResult& result);

}  // namespace castscope::cli
