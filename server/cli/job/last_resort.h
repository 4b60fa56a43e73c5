// The last duty of castscope when castscope itself breaks (a fault, abort(), no memory, no thread): it waits for the
// job and ends as the job ends. Neither the job nor its user must notice.
#pragma once

#include <sys/types.h>

#include <string>

#include "server/cli/job/job_end.h"

namespace castscope::cli {

void guard_job(pid_t job);              // from this call on
void guard_sentence(std::string what);  // written to stderr when castscope breaks
void guard_end(const JobEnd& end);      // the job has ended and has been reaped

// Returns a sentence if the recorder would lack threads, files or memory; "" if it finds what it needs.
std::string what_recording_lacks();

}  // namespace castscope::cli
