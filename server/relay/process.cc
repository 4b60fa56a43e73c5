#include "server/relay/process.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace castscope::relay {
namespace {

// Indices into the fields of /proc/PID/stat, which proc(5) counts from 1; the first two are not in the list.
constexpr std::size_t kState = 3 - 3, kFlags = 9 - 3, kThreads = 20 - 3, kStartTime = 22 - 3, kExitCode = 52 - 3;

std::vector<std::string> stat_fields(std::int64_t pid) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/stat"));
  // This is not done with istreambuf_iterator: if a process ends between opening and reading, the read fails, and the
  // iterator throws.
  std::ostringstream content;
  content << file.rdbuf();
  const std::string text = content.str();
  // The second field is the command in parentheses and may contain anything: the other fields start after the last
  // parenthesis.
  const std::size_t command_end = text.rfind(')');
  if (command_end == std::string::npos) return {};
  std::istringstream rest(text.substr(command_end + 1));
  return {std::istream_iterator<std::string>(rest), {}};
}

bool is_of(const std::vector<std::string>& fields, std::uint64_t start_ticks) {
  return fields.size() > kStartTime &&
         (start_ticks == 0 || std::strtoull(fields[kStartTime].c_str(), nullptr, 10) == start_ticks);
}

// If the main thread has ended while others run, the process appears as a zombie with threads.
bool has_ended(const std::vector<std::string>& fields) {
  const char state = fields[kState][0];
  const bool ended = state == 'Z' || state == 'X' || state == 'x';
  return ended && std::strtol(fields[kThreads].c_str(), nullptr, 10) <= 1;
}

// PF_KTHREAD of linux/sched.h, which programs do not get.
constexpr unsigned long kOfTheKernel = 0x00200000;

// Such a thread has no memory of its own, as a process that is about to end has none.
bool is_of_the_kernel(std::int64_t pid) {
  const std::vector<std::string> fields = stat_fields(pid);
  return fields.size() > kFlags && (std::strtoul(fields[kFlags].c_str(), nullptr, 10) & kOfTheKernel) != 0;
}

// The struct of linux/pidfd.h in Linux 6.15, which older systems' headers lack.
struct PidfdInfo {
  std::uint64_t mask, cgroup;
  std::uint32_t ids[11];
  std::int32_t exit_code;
};
static_assert(sizeof(PidfdInfo) == 64);
constexpr std::uint64_t kPidfdInfoExit = 1u << 3;
constexpr unsigned long kPidfdGetInfo = _IOWR(0xFF, 11, PidfdInfo);

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

}  // namespace

bool is_alive(std::int64_t pid, std::uint64_t start_ticks) {
  const std::vector<std::string> fields = stat_fields(pid);
  return is_of(fields, start_ticks) && !has_ended(fields);
}

bool has_mapped(std::int64_t pid, std::string_view part) {
  const int fd = open(absl::StrCat("/proc/", pid, "/maps").c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return errno != ENOENT && errno != ESRCH;
  // The kernel makes the list while it is read. The end of each piece is kept, since a path may go on in the next one.
  std::string seen;
  char piece[4096];
  bool found = false;
  ssize_t n = 0;
  while (!found && (n = read(fd, piece, sizeof piece)) > 0) {
    seen.append(piece, static_cast<std::size_t>(n));
    found = seen.find(part) != std::string::npos;
    if (seen.size() > part.size()) seen.erase(0, seen.size() - part.size());
  }
  const bool refused = n < 0 && errno != ESRCH;
  const bool dying = n == 0 && seen.empty();  // its memory is gone, and it is not yet a zombie: that is not an exec
  close(fd);
  return found || refused || (dying && !is_of_the_kernel(pid));
}

EndWatch::EndWatch(std::int64_t pid, std::uint64_t start_ticks) : pid_(pid), start_ticks_(start_ticks) {
  if (pid <= 0 || start_ticks == 0) return;
  pidfd_ = static_cast<int>(syscall(SYS_pidfd_open, static_cast<pid_t>(pid), 0));
  if (pidfd_ < 0 || is_of(stat_fields(pid), start_ticks)) return;
  close(pidfd_);  // it is of another process that now has the pid
  pidfd_ = -1;
}

EndWatch::~EndWatch() {
  if (pidfd_ >= 0) close(pidfd_);
}

std::optional<int> EndWatch::wait_status() {
  if (known_ || start_ticks_ == 0) return known_;
  const std::vector<std::string> fields = stat_fields(pid_);
  if (is_of(fields, start_ticks_)) {
    if (has_ended(fields) && fields.size() > kExitCode) known_ = std::atoi(fields[kExitCode].c_str());
    return known_;
  }
  PidfdInfo info{};
  info.mask = kPidfdInfoExit;
  if (pidfd_ >= 0 && ioctl(pidfd_, kPidfdGetInfo, &info) == 0 && (info.mask & kPidfdInfoExit) != 0)
    known_ = info.exit_code;
  return known_;
}

}  // namespace castscope::relay
