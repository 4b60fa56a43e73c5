#include "server/cli/toolkit/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

extern char** environ;

namespace castscope::cli {
namespace {

struct Pipe {
  int read = -1, write = -1;
  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) == 0) read = ends[0], write = ends[1];
  }
  ~Pipe() {
    close_write();
    if (read >= 0) close(read);
  }
  void close_write() {
    if (write >= 0) close(write);
    write = -1;
  }
};

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (const auto& text : texts) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

// Returns false when it became too late.
bool read_both(Pipe& out, Pipe& err, const std::function<bool()>& is_too_late, ChildResult& result) {
  constexpr int kAskAfterMs = 50;
  pollfd ends[2] = {{out.read, POLLIN, 0}, {err.read, POLLIN, 0}};
  std::string* texts[2] = {&result.out, &result.err};
  char buffer[65536];
  while (ends[0].fd >= 0 || ends[1].fd >= 0) {
    if (is_too_late && is_too_late()) return false;
    const int ready = poll(ends, 2, is_too_late ? kAskAfterMs : -1);
    if (ready < 0 && errno != EINTR) return true;
    if (ready <= 0) continue;
    for (int i = 0; i < 2; i++) {
      if (ends[i].fd < 0 || ends[i].revents == 0) continue;
      ssize_t n = read(ends[i].fd, buffer, sizeof(buffer));
      if (n > 0) texts[i]->append(buffer, static_cast<std::size_t>(n));
      if (n == 0 || (n < 0 && errno != EINTR)) ends[i].fd = -1;
    }
  }
  return true;
}

absl::StatusOr<pid_t> spawn(const std::vector<std::string>& command, const ChildOptions& options, int out, int err) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out, 1);
  posix_spawn_file_actions_adddup2(&actions, err, 2);
  if (!options.folder.empty()) posix_spawn_file_actions_addchdir_np(&actions, options.folder.c_str());
  std::vector<std::string> environment = environment_with(options.environment);
  pid_t pid = -1;
  int error =
      posix_spawnp(&pid, command[0].c_str(), &actions, nullptr, pointers(command).data(), pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return absl::UnavailableError(absl::StrCat(command[0], " cannot be started: ", strerror(error)));
  return pid;
}

int wait_for(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

std::vector<std::string> environment_with(const std::vector<std::string>& changes) {
  auto name_of = [](std::string_view entry) { return entry.substr(0, entry.find('=')); };
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; entry++) {
    bool replaced = std::any_of(changes.begin(), changes.end(),
                                [&](const std::string& change) { return name_of(change) == name_of(*entry); });
    if (!replaced) result.emplace_back(*entry);
  }
  result.insert(result.end(), changes.begin(), changes.end());
  return result;
}

absl::StatusOr<ChildResult> run_child(const std::vector<std::string>& command, const ChildOptions& options) {
  Pipe out, err;
  absl::StatusOr<pid_t> pid = spawn(command, options, out.write, err.write);
  if (!pid.ok()) return pid.status();
  out.close_write();
  err.close_write();
  ChildResult result;
  const bool in_time = read_both(out, err, options.is_too_late, result);
  if (!in_time) kill(*pid, SIGKILL);
  result.status = wait_for(*pid);
  if (!in_time) return absl::DeadlineExceededError(absl::StrCat(command[0], " took too long"));
  return result;
}

absl::Status run_children(const std::vector<std::vector<std::string>>& commands, int at_once,
                          const ChildOptions& options) {
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  absl::Status status;
  auto work = [&] {
    for (std::size_t i = next++; i < commands.size(); i = next++) {
      absl::StatusOr<ChildResult> result = run_child(commands[i], options);
      std::lock_guard lock(mutex);
      if (!status.ok()) return;
      if (!result.ok()) {
        status = result.status();
      } else if (result->status != 0) {
        status = absl::UnknownError(
            absl::StrCat("`", absl::StrJoin(commands[i], " "), "` failed:\n", result->err, result->out));
      }
      if (!status.ok()) next = commands.size();
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < std::max(1, at_once); i++) threads.emplace_back(work);
  for (auto& thread : threads) thread.join();
  return status;
}

std::string program_path() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).string();
}

std::string find_in_path(const std::string& name) {
  if (name.find('/') != std::string::npos) return access(name.c_str(), X_OK) == 0 ? name : "";
  const char* path = getenv("PATH");
  for (absl::string_view folder : absl::StrSplit(path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin", ':')) {
    std::string candidate = absl::StrCat(folder.empty() ? absl::string_view(".") : folder, "/", name);
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return "";
}

}  // namespace castscope::cli
