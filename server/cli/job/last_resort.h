// What castscope still does when castscope itself breaks (a fault, abort(), no memory, no thread): it waits for the job
// and ends as it ends. The job and whoever started it must not notice.
#pragma once

#include <sys/types.h>

#include <string>

#include "server/cli/job/job_end.h"

namespace castscope::cli {

void guard_job(pid_t job);              // from here on
void guard_sentence(std::string what);  // said on stderr when it happens
void guard_end(const JobEnd& end);      // the job has ended, and was waited for

// Whether the recorder finds the threads, the files and the memory that it needs; a sentence when not.
std::string what_recording_lacks();

}  // namespace castscope::cli
