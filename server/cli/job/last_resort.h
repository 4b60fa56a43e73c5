// The last duty of castscope when castscope itself breaks (a fault, abort(), no memory, no thread): it waits for the
// job and ends as the job ends. Before the job has started it becomes the job. Neither the job nor its user must
// notice.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <string>
#include <vector>

#include "server/cli/job/job_end.h"

namespace castscope::cli {

// Signals that a fault of our own raises, and that kill() rarely sends.
inline constexpr int kFaults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT};

// From this call on, until guard_job(). It is made before any thread or child is. An empty command: the job must not
// run without castscope, which ends with `exit_status`.
void guard_start(const std::vector<std::string>& command, int exit_status);
void guard_job(pid_t job);              // from this call on
void guard_sentence(std::string what);  // written to stderr when castscope breaks
void guard_end(const JobEnd& end);      // the job has ended and has been reaped

// Returns a sentence if the recorder would lack threads, files or memory; "" if it finds what it needs.
std::string what_recording_lacks();

}  // namespace castscope::cli
