#include "server/cli/job.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "absl/strings/str_cat.h"
#include "server/cli/child.h"

namespace castscope::cli {
namespace {

constexpr int kForwarded[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGALRM, SIGWINCH};

// A member of our process group that tells which signals the whole group got. castscope cannot see it from its own:
// kill(pid) must be passed on to the job, while after kill(-group), or `timeout`, the job has got it already and a
// second one may break its clean-up.
[[noreturn]] void be_witness(int report, const sigset_t& signals, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_NAME, "castscope-sig");
  if (getppid() != parent) _exit(0);
  if (report != 3) dup2(report, 3);
  for (int fd = 0; fd < 3; fd++) close(fd);  // the job's pipes must not be held open here
  if (syscall(SYS_close_range, 4, ~0u, 0) != 0) {
    for (int fd = 4; fd < 4096; fd++) close(fd);
  }
  for (;;) {
    unsigned char signal = static_cast<unsigned char>(std::max(0, sigwaitinfo(&signals, nullptr)));
    if (signal != 0 && write(3, &signal, 1) < 0) _exit(0);
  }
}

}  // namespace

SignalForwarding::SignalForwarding() {
  sigemptyset(&taken_);
  for (int signal : kForwarded) {
    struct sigaction action {};
    sigaction(signal, nullptr, &action);
    if (action.sa_handler != SIG_IGN) sigaddset(&taken_, signal);  // nohup's SIGHUP stays ignored, by the job too
  }
  sigprocmask(SIG_BLOCK, &taken_, &before_);
  struct sigaction pipe_action {};
  sigaction(SIGPIPE, nullptr, &pipe_action);
  pipe_was_default_ = pipe_action.sa_handler == SIG_DFL;
  signal(SIGPIPE, SIG_IGN);

  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return;
  pid_t self = getpid();
  witness_ = fork();
  if (witness_ == 0) be_witness(ends[1], taken_, self);
  close(ends[1]);
  witness_says_ = ends[0];
}

pid_t SignalForwarding::start(const std::vector<std::string>& command, const std::vector<std::string>& environment,
                              StartError& error) {
  std::vector<char*> arguments, variables;
  for (const auto& text : command) arguments.push_back(const_cast<char*>(text.c_str()));
  for (const auto& text : environment) variables.push_back(const_cast<char*>(text.c_str()));
  arguments.push_back(nullptr);
  variables.push_back(nullptr);

  // Not posix_spawn, which leaves two of the C library's own signals ignored in the child.
  volatile int code = 0;
  job_ = vfork();
  if (job_ == 0) {
    if (pipe_was_default_) signal(SIGPIPE, SIG_DFL);
    sigprocmask(SIG_SETMASK, &before_, nullptr);
    execvpe(command[0].c_str(), arguments.data(), variables.data());
    code = errno;
    _exit(126);
  }
  if (job_ < 0) code = errno;
  if (code != 0) {
    if (job_ > 0) waitpid(job_, nullptr, 0);
    job_ = -1;
    bool not_found = code == ENOENT && find_in_path(command[0]).empty();
    error = {not_found ? 127 : 126, not_found ? absl::StrCat(command[0], ": command not found")
                                              : absl::StrCat(command[0], " cannot be started: ", strerror(code))};
    return -1;
  }
  return job_;
}

bool SignalForwarding::whole_group_got(int signal) {
  // The kernel signals a group in one go, so that the witness needs only its turn on a processor.
  constexpr int kPatienceMs = 100;
  pollfd end{witness_says_, POLLIN, 0};
  while (poll(&end, 1, kPatienceMs) > 0) {
    unsigned char told = 0;
    if (read(witness_says_, &told, 1) != 1) return false;
    if (told == signal) return true;
  }
  return false;
}

void SignalForwarding::forward_loop() {
  for (;;) {
    siginfo_t info;
    int signal = sigwaitinfo(&taken_, &info);
    if (signal <= 0) continue;
    // From the terminal (Ctrl-C, its closing, its size): to the whole foreground group, the job included.
    bool from_kernel = info.si_code == SI_KERNEL;
    bool whole_group = whole_group_got(signal);  // asked in any case: what the witness says must not be left over
    if (!from_kernel && !whole_group) pass_on(signal);
  }
}

void SignalForwarding::pass_on(int signal) {
  std::lock_guard lock(mutex_);
  if (job_ > 0) kill(job_, signal);
}

JobEnd SignalForwarding::wait() {
  std::thread([this] { forward_loop(); }).detach();  // for the rest of the process
  siginfo_t ended;
  while (waitid(P_PID, static_cast<id_t>(job_), &ended, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
  }
  int status = 0;
  {
    std::lock_guard lock(mutex_);
    while (waitpid(job_, &status, 0) < 0 && errno == EINTR) {
    }
    job_ = -1;
  }
  if (witness_ > 0) {
    kill(witness_, SIGKILL);
    waitpid(witness_, nullptr, 0);
  }
  if (WIFSIGNALED(status)) return {-1, WTERMSIG(status)};
  return {WEXITSTATUS(status), 0};
}

void leave_as(const JobEnd& end) {
  if (end.signal != 0) {
    rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    signal(end.signal, SIG_DFL);
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, end.signal);
    pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
    raise(end.signal);        // to this thread: the forwarding one would take it
    _exit(128 + end.signal);  // a signal whose default is to go on
  }
  _exit(end.exit_status);
}

}  // namespace castscope::cli
