#include "server/cli/job/job.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "server/cli/job/inherited_signals.h"
#include "server/cli/job/last_resort.h"
#include "server/cli/toolkit/child.h"

namespace castscope::cli {
namespace {

// The kernel sends these to the whole foreground group (or to the only process that they are meant for).
constexpr int kStops[] = {SIGTSTP, SIGTTIN, SIGTTOU};

bool is_one_of(int signal, const auto& list) {
  return std::find(std::begin(list), std::end(list), signal) != std::end(list);
}

// This signal asks the witness whether it has reported all. It has the highest number, since other pending signals are
// taken first.
const int kProbe = SIGRTMAX;
constexpr unsigned char kToldAll = 0;

// The witness is a member of our process group and reports which signals the whole group got. castscope cannot see that
// from its own: kill(pid) must be passed on to the job, while after kill(-group), or `timeout`, the job has already got
// the signal, and a second one may break its clean-up.
[[noreturn]] void be_witness(int report, sigset_t signals, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_NAME, "castscope-sig");
  if (getppid() != parent) _exit(0);
  if (report != 3) dup2(report, 3);
  for (int fd = 0; fd < 3; fd++) close(fd);  // the job's pipes must not stay open here
  if (syscall(SYS_close_range, 4, ~0u, 0) != 0) {
    for (int fd = 4; fd < 4096; fd++) close(fd);
  }
  sigset_t probe;
  sigemptyset(&probe);
  sigaddset(&probe, kProbe);
  sigaddset(&signals, kProbe);
  sigprocmask(SIG_BLOCK, &probe, nullptr);
  signal(kProbe, SIG_DFL);
  for (;;) {
    siginfo_t info{};
    const int got = sigwaitinfo(&signals, &info);
    if (got <= 0) continue;
    const bool is_probe = got == kProbe && info.si_code == SI_QUEUE && info.si_pid == parent;
    const unsigned char told = is_probe ? kToldAll : static_cast<unsigned char>(got);
    if (write(3, &told, 1) < 0) _exit(0);
  }
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (const auto& text : texts) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

}  // namespace

// The signals are blocked rather than caught: a blocked SIGPIPE or SIGXFSZ from our own writing stays with the thread
// that wrote, while one that somebody sends us comes out of sigwaitinfo() like all others.
SignalForwarding::SignalForwarding() {
  sigfillset(&taken_);
  for (int signal : kFaults) sigdelset(&taken_, signal);
  for (int signal = 1; signal <= SIGRTMAX; signal++) {
    const bool by_us = signal == SIGXFSZ && ignores_file_size();
    if (is_ignored(signal) && !by_us) sigdelset(&taken_, signal);  // nohup's SIGHUP stays ignored, also in the job
  }
  sigdelset(&taken_, SIGCHLD);
  sigset_t blocked = taken_;
  sigaddset(&blocked, SIGCHLD);
  sigprocmask(SIG_BLOCK, &blocked, &before_);

  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return;
  pid_t self = getpid();
  witness_ = fork();
  if (witness_ == 0) be_witness(ends[1], taken_, self);
  close(ends[1]);
  witness_says_ = ends[0];
}

void SignalForwarding::give_back_signal_state() const {
  give_back_inherited_signals();
  sigprocmask(SIG_SETMASK, &before_, nullptr);
}

// This is not posix_spawn, which leaves two of the C library's own signals ignored in the child.
pid_t SignalForwarding::launch(char* const* arguments, char* const* environment, volatile int& code) {
  const pid_t job = vfork();
  if (job == 0) {
    give_back_signal_state();
    execvpe(arguments[0], arguments, environment);
    code = errno;
    _exit(126);
  }
  if (job < 0) code = errno;
  return job;
}

pid_t SignalForwarding::start(const std::vector<std::string>& command, const std::vector<std::string>& environment,
                              StartError& error) {
  const std::vector<char*> arguments = pointers(command), variables = pointers(environment);
  volatile int code = 0;
  job_ = launch(arguments.data(), variables.data(), code);
  if (job_ < 0 && witness_ > 0) {  // where the number of processes is limited, the witness makes room
    end_witness();
    code = 0;
    job_ = launch(arguments.data(), variables.data(), code);
  }
  if (code == 0) {
    guard_job(job_);
    return job_;
  }
  const bool no_process_left = job_ < 0;
  if (job_ > 0) waitpid(job_, nullptr, 0);
  job_ = -1;
  bool not_found = code == ENOENT && find_in_path(command[0]).empty();
  const bool nameless = command[0].empty();
  error = {not_found || nameless ? 127 : 126,
           nameless    ? "the command has an empty name"
           : not_found ? absl::StrCat(command[0], ": command not found")
                       : absl::StrCat(command[0], " cannot be started: ", strerror(code)),
           no_process_left};
  return -1;
}

void SignalForwarding::become(const std::vector<std::string>& command, const std::vector<std::string>& environment) {
  const std::vector<char*> arguments = pointers(command), variables = pointers(environment);
  give_back_signal_state();
  execvpe(arguments[0], arguments.data(), variables.data());
}

// The kernel signals a group in one go, the younger processes first: when we have the signal, the witness has it too.
// On a busy machine the witness may wait long for a processor, so it is asked. The extra moment is for kill(-1), which
// begins with the older processes.
bool SignalForwarding::whole_group_got(int signal) {
  constexpr int kPatienceMs = 10'000, kMomentMs = 100;
  if (witness_ <= 0 || sigqueue(witness_, kProbe, {}) != 0) return false;
  bool got = false;
  pollfd end{witness_says_, POLLIN, 0};
  for (bool told_all = false; (!told_all || !got) && poll(&end, 1, told_all ? kMomentMs : kPatienceMs) > 0;) {
    unsigned char told = kToldAll;
    if (read(witness_says_, &told, 1) != 1) return got;
    told_all = told_all || told == kToldAll;
    got = got || told == signal;
  }
  return got;
}

void SignalForwarding::forward(const siginfo_t& info) {
  if (info.si_code <= 0 && info.si_pid == getpid()) return;  // from our own writing: no reader, or a file too large
  // Signals of the terminal (Ctrl-C, its size) go to the whole foreground group, which includes the job; but the
  // hang-up goes only to the leader of the session, which would be the job if castscope were not there.
  const bool leads_session = getsid(0) == getpid();
  const bool hang_up = leads_session && (info.si_signo == SIGHUP || info.si_signo == SIGCONT);
  const bool from_terminal = info.si_code == SI_KERNEL && !hang_up;
  const bool whole_group = whole_group_got(info.si_signo);  // asked in any case, so that no report stays in the pipe
  if (!from_terminal && !whole_group) pass_on(info);
  // castscope stops like the job, so that its parent sees it stop.
  if (is_one_of(info.si_signo, kStops) && (from_terminal || whole_group || job_has_stopped())) stop_as(info.si_signo);
}

void SignalForwarding::pass_on(const siginfo_t& info) const {
  if (info.si_code == SI_QUEUE) {
    sigqueue(job_, info.si_signo, info.si_value);
  } else {
    kill(job_, info.si_signo);
  }
}

// Waits a moment, since the job may need it to stop.
bool SignalForwarding::job_has_stopped() const {
  siginfo_t state{};
  for (int look = 0; look < 20; look++) {
    if (waitid(P_PID, static_cast<id_t>(job_), &state, WSTOPPED | WNOHANG | WNOWAIT) == 0 && state.si_pid == job_)
      return true;
    usleep(5'000);
  }
  return false;
}

void SignalForwarding::stop_as(int signal) {
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal);
  raise(signal);  // it stays pending until it is unblocked
  pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  pthread_sigmask(SIG_BLOCK, &only, nullptr);
}

// Uses only this thread, since the limits may allow no other.
JobEnd SignalForwarding::wait() {
  sigset_t signals = taken_;
  sigaddset(&signals, SIGCHLD);
  siginfo_t ended{};
  // SIGCHLD reports the end; the look once a second is for a system that loses one.
  constexpr timespec kLook{1, 0};
  while (waitid(P_PID, static_cast<id_t>(job_), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid == 0) {
    siginfo_t info{};
    if (sigtimedwait(&signals, &info, &kLook) > 0 && info.si_signo != SIGCHLD) forward(info);
  }
  int status = 0;
  while (waitpid(job_, &status, 0) < 0 && errno == EINTR) {
  }
  end_witness();
  JobEnd end = WIFSIGNALED(status) ? JobEnd{-1, WTERMSIG(status)} : JobEnd{WEXITSTATUS(status), 0};
  guard_end(end);
  job_ = -1;
  return end;
}

void SignalForwarding::end_witness() {
  if (witness_ <= 0) return;
  kill(witness_, SIGKILL);
  waitpid(witness_, nullptr, 0);
  witness_ = -1;
}

}  // namespace castscope::cli
