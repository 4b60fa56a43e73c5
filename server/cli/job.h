// The user's command: started so that it does not notice castscope, waited for, and its end passed on as our own.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <mutex>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace castscope::cli {

struct JobEnd {
  int exit_status = -1;
  int signal = 0;  // that killed it; 0 = none
};

// Signals from here on go to the job. One object per process, made before any other thread is.
class SignalForwarding {
 public:
  SignalForwarding();
  struct StartError {
    int shell_status;  // what a shell would exit with: 127 = not found, else 126
    std::string sentence;
  };
  // Starts the command with the signal state that castscope itself was started with, in the same process group, so
  // that the terminal is the job's. -1: it could not be started.
  pid_t start(const std::vector<std::string>& command, const std::vector<std::string>& environment, StartError& error);
  // Waits for the job's end, forwarding meanwhile.
  JobEnd wait();

 private:
  void forward_loop();
  bool whole_group_got(int signal);
  void pass_on(int signal);

  sigset_t before_, taken_;
  bool pipe_was_default_ = false;
  std::mutex mutex_;  // of job_, so that no signal goes to a pid that is free again
  pid_t job_ = -1;
  pid_t witness_ = -1;
  int witness_says_ = -1;
};

// Ends this process as the job ended: with its status, or by its signal (without a core of ours).
[[noreturn]] void leave_as(const JobEnd& end);

}  // namespace castscope::cli
