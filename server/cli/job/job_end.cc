#include "server/cli/job/job_end.h"

#include <sys/resource.h>
#include <unistd.h>

#include <csignal>

namespace castscope::cli {

void leave_as(const JobEnd& end) {
  if (end.signal != 0) {
    rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    signal(end.signal, SIG_DFL);
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, end.signal);
    pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
    raise(end.signal);
    _exit(128 + end.signal);  // for a signal that does not end a process by default
  }
  _exit(end.exit_status);
}

}  // namespace castscope::cli
