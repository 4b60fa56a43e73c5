// The user's command: started so that it does not notice castscope, and waited for.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/cli/job/job_end.h"

namespace castscope::cli {

// For main(), before anything else: what castscope was started with and cannot work with is put aside, for the job to
// have. Where SIGCHLD is ignored no child leaves a status, and a limit on file sizes would kill us.
void put_aside_inherited_signals();

// Signals from here on go to the job. One object per process, made before any other thread is.
class SignalForwarding {
 public:
  SignalForwarding();
  struct StartError {
    int shell_status;  // what a shell would exit with: 127 = not found, else 126
    std::string sentence;
    bool no_process_left = false;  // the limits allow none beside this one
  };
  // Starts the command with the signal state that castscope itself was started with, in the same process group, so
  // that the terminal is the job's. -1: it could not be started.
  pid_t start(const std::vector<std::string>& command, const std::vector<std::string>& environment, StartError& error);
  // Puts the command in the place of castscope; returns only when that cannot be done.
  void become(const std::vector<std::string>& command, const std::vector<std::string>& environment);
  // Waits for the job's end, forwarding meanwhile.
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
