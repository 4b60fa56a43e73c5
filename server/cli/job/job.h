// Starts the user's command so that it does not notice castscope, and waits for it.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/cli/job/job_end.h"

namespace castscope::cli {

// From its construction on, signals go to the job. There is one object per process, made before any other thread.
class SignalForwarding {
 public:
  SignalForwarding();
  struct StartError {
    int shell_status;  // the exit status of a shell: 127 = not found, else 126
    std::string sentence;
    bool no_process_left = false;  // the limits allow no process beside this one
  };
  // Starts the command with the signal state that castscope itself was started with, in the same process group, so that
  // the terminal is the job's. Returns -1 if it could not be started.
  pid_t start(const std::vector<std::string>& command, const std::vector<std::string>& environment, StartError& error);
  // Replaces castscope by the command; returns only when that is not possible.
  void become(const std::vector<std::string>& command, const std::vector<std::string>& environment);
  // Waits for the job's end, and forwards signals meanwhile.
  JobEnd wait();

 private:
  pid_t launch(char* const* arguments, char* const* environment, volatile int& code);
  void give_back_signal_state() const;
  void forward(const siginfo_t& info);
  bool whole_group_got(int signal);
  void pass_on(const siginfo_t& info) const;
  void stop_as(int signal);
  bool job_has_stopped() const;
  void end_witness();

  sigset_t before_, taken_;
  pid_t job_ = -1;
  pid_t witness_ = -1;
  int witness_says_ = -1;
};

}  // namespace castscope::cli
