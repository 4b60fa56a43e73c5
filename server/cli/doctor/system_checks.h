// What a machine or a container gives to castscope.
#pragma once

#include "server/cli/attaching/running.h"
#include "server/cli/doctor/check.h"

namespace castscope::cli {

// The shared memory that records go through. A process takes up to 48 MB of it; Docker gives 64 MB to a container.
Check check_shared_memory(const char* folder = "/dev/shm");

// Whether a filter of system calls (seccomp, as in containers) keeps castscope from what it uses.
Check check_system_calls();

// Whether `castscope attach` may come into jobs that were started without castscope.
Check check_tracing(const Rights& rights);

}  // namespace castscope::cli
