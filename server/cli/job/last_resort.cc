#include "server/cli/job/last_resort.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "server/cli/job/inherited_signals.h"

namespace castscope::cli {
namespace {

constexpr int kMostWaitForReader = 3000;  // ms: nobody may read what castscope says

// A signal handler reads these: they never move once they are set.
std::atomic<pid_t> guarded_job = -1;
std::atomic<const std::string*> sentence = nullptr;
std::atomic<bool> has_broken = false;
JobEnd job_end;
std::atomic<bool> job_has_ended = false;

// The job that castscope executes in its own place if it breaks before it has started that job.
struct Start {
  pid_t process = 0;  // castscope's own: a child of it that breaks must not start the job a second time
  std::vector<std::string> command;
  std::vector<char*> arguments;
  sigset_t signals;  // as they were blocked when castscope began
  int exit_status = 0;
};
std::atomic<const Start*> start = nullptr;

[[noreturn]] void become_job(const Start& job) {
  if (job.command.empty() || getpid() != job.process) _exit(job.exit_status);
  for (const int signal : kFaults) ::signal(signal, SIG_DFL);
  give_back_inherited_signals();
  sigprocmask(SIG_SETMASK, &job.signals, nullptr);
  execvp(job.arguments[0], job.arguments.data());
  _exit(errno == ENOENT ? 127 : 126);
}

[[noreturn]] void leave_as_job() {
  siginfo_t ended{};
  const pid_t job = guarded_job;
  while (!job_has_ended) {
    if (waitid(P_PID, static_cast<id_t>(job), &ended, WEXITED | WNOWAIT) == 0) {
      leave_as(ended.si_code == CLD_EXITED ? JobEnd{ended.si_status, 0} : JobEnd{-1, ended.si_status});
    }
    if (errno == ECHILD) usleep(1000);  // the main thread has just reaped it
  }
  leave_as(job_end);
}

void handle_fault(int signal, siginfo_t* info, void*) {
  const bool sent_to_us = info->si_code <= 0 && info->si_pid != getpid();
  const Start* const not_started = start;
  if (sent_to_us) {
    if (not_started == nullptr) return void(kill(guarded_job, signal));
    ::signal(signal, SIG_DFL);
    raise(signal);
  }
  if (!has_broken.exchange(true)) {
    const std::string* text = sentence;
    pollfd reader{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
    const bool is_read = poll(&reader, 1, kMostWaitForReader) > 0;
    if (text != nullptr && is_read && write(STDERR_FILENO, text->data(), text->size()) < 0) {
    }
  }
  if (not_started != nullptr) become_job(*not_started);
  leave_as_job();
}

void handle_faults() {
  struct sigaction action {};
  action.sa_sigaction = handle_fault;
  action.sa_flags = SA_SIGINFO;
  for (const int signal : kFaults) sigaction(signal, &action, nullptr);
}

bool may_open(int files) {
  std::vector<int> open_now;
  for (int i = 0; i < files; i++) {
    const int fd = i == 0 ? open("/dev/null", O_RDONLY | O_CLOEXEC) : fcntl(open_now[0], F_DUPFD_CLOEXEC, 0);
    if (fd < 0) break;
    open_now.push_back(fd);
  }
  for (int fd : open_now) close(fd);
  return static_cast<int>(open_now.size()) == files;
}

}  // namespace

void guard_start(const std::vector<std::string>& command, int exit_status) {
  auto* const job =
      new Start{.process = getpid(), .command = command, .arguments = {}, .signals = {}, .exit_status = exit_status};
  for (std::string& word : job->command) job->arguments.push_back(word.data());
  job->arguments.push_back(nullptr);
  sigprocmask(SIG_SETMASK, nullptr, &job->signals);
  guard_sentence(command.empty() ? "castscope itself has failed; the job was not started"
                                 : "castscope itself has failed; the job runs unobserved");
  start = job;
  handle_faults();
}

void guard_job(pid_t job) {
  guarded_job = job;
  start = nullptr;
  guard_sentence("castscope itself has failed; the job goes on unrecorded");
  handle_faults();
}

void guard_sentence(std::string what) { sentence = new std::string("castscope: " + what + "\n"); }

void guard_end(const JobEnd& end) {
  job_end = end;
  job_has_ended = true;
  if (has_broken) leave_as(end);
}

std::string what_recording_lacks() {
  // Threads: gRPC's pools, the relay's two, the watchers. Memory: their stacks, SQLite, batches that wait for an
  // acknowledgement.
  constexpr int kThreads = 24;
  // The run file with its log and index, gRPC's own files, the witness's pipe: 11 without any process, and two for
  // each.
  constexpr int kFiles = 16;
  constexpr std::size_t kMemory = 160u << 20;
  std::mutex mutex;
  std::condition_variable wake;
  bool over = false;
  std::string problem;
  std::vector<std::thread> threads;
  try {
    threads.reserve(kThreads);
    for (int i = 0; i < kThreads; i++) {
      threads.emplace_back([&] {
        std::unique_lock lock(mutex);
        wake.wait(lock, [&] { return over; });
      });
    }
  } catch (const std::system_error&) {
    problem = "recording needs some 20 threads, and the limits on processes and memory (ulimit -u, -v) allow fewer";
  }
  if (problem.empty() && !may_open(kFiles))
    problem = "recording needs some 20 files open at once, and the limit (ulimit -n) allows fewer";
  void* memory = mmap(nullptr, kMemory, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED && problem.empty())
    problem = "recording needs more memory than the limit (ulimit -v) allows";
  if (memory != MAP_FAILED) munmap(memory, kMemory);
  {
    const std::lock_guard lock(mutex);
    over = true;
  }
  wake.notify_all();
  for (std::thread& thread : threads) thread.join();
  return problem;
}

}  // namespace castscope::cli
