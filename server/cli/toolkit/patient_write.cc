#include "server/cli/toolkit/patient_write.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

namespace castscope::cli {
namespace {

using Clock = std::chrono::steady_clock;

struct Opened {
  int file = -1;
  bool is_own = false;
  bool is_socket = false;
  ~Opened() {
    if (is_own) close(file);
  }
};

// A pipe or a terminal is opened once more, and there nothing waits: room that poll() has seen may have been taken by
// the job since. O_NONBLOCK in the file that was inherited would be the job's, too.
Opened opened_without_waiting(int file) {
  struct stat info {};
  const bool known = fstat(file, &info) == 0;
  if (known && (S_ISFIFO(info.st_mode) || isatty(file) != 0)) {
    const std::string path = "/proc/self/fd/" + std::to_string(file);
    const int own = open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (own >= 0) return {.file = own, .is_own = true};
  }
  return {.file = file, .is_socket = known && S_ISSOCK(info.st_mode)};
}

// Where the file could not be opened once more, PIPE_BUF bytes are what a pipe takes at once when it is ready.
ssize_t write_some(const Opened& to, std::string_view text) {
  const std::size_t size = std::min<std::size_t>(text.size(), PIPE_BUF);
  return to.is_socket ? send(to.file, text.data(), size, MSG_DONTWAIT) : write(to.file, text.data(), size);
}

bool is_ready(int file, Clock::time_point until) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
  pollfd one{.fd = file, .events = POLLOUT, .revents = 0};
  return poll(&one, 1, static_cast<int>(std::max<decltype(left)>(left, 0))) > 0;
}

}  // namespace

bool write_within(int file, std::string_view text, std::chrono::milliseconds patience) {
  const Opened to = opened_without_waiting(file);
  const Clock::time_point until = Clock::now() + patience;
  while (!text.empty()) {
    const bool ready = is_ready(to.file, until);
    const ssize_t written = ready ? write_some(to, text) : 0;
    if (written > 0)
      text.remove_prefix(static_cast<std::size_t>(written));
    else if (written < 0 && errno != EAGAIN && errno != EINTR)
      return false;
    else if (Clock::now() >= until)
      return false;
  }
  return true;
}

}  // namespace castscope::cli
