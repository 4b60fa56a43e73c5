// A run that is recorded by a castscope which did not start its job: by the relay of a bare job, or by `castscope
// recover`.
#pragma once

#include "server/cli/job/run_directory.h"
#include "server/cli/recording/recording.h"
#include "server/rules/inquiry/settings.h"

namespace castscope::cli {

rules::Settings settings_of_job(const RunRecord& record);

// Describes a job that castscope did not start, by its first process that had an agent.
RunRecord describe(const RunDirectory& directory);
pid_t first_attached(const RunDirectory& directory);

// Waits, as the relay of this run, until no process of it is left.
void wait_for_last_process(Recording& recording, const RunDirectory& directory);

// Returns the sentence for a run file that holds the later part of a run, whose earlier part the collector has.
std::string sent_to(const std::string& collector);

}  // namespace castscope::cli
