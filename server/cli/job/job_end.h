// How the user's command ended, and how castscope passes that on as its own end.
#pragma once

namespace castscope::cli {

struct JobEnd {
  int exit_status = -1;
  int signal = 0;  // that killed it; 0 = none
};

// Ends this process as the job ended: with its status, or by its signal (without a core of ours).
[[noreturn]] void leave_as(const JobEnd& end);

}  // namespace castscope::cli
