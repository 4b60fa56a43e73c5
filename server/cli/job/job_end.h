// How the user's command ended, and how castscope ends in the same way.
#pragma once

namespace castscope::cli {

struct JobEnd {
  int exit_status = -1;
  int signal = 0;  // the signal that killed it; 0 = none
};

// Ends this process as the job ended: with its status, or by its signal (without a core dump of castscope).
[[noreturn]] void leave_as(const JobEnd& end);

}  // namespace castscope::cli
