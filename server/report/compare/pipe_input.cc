#include "server/report/compare/pipe_input.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"

namespace castscope::report {
namespace {

using Clock = std::chrono::steady_clock;

enum class Next { kBytes, kEnd, kNobody, kFailed };

// Waits for bytes of whoever has the pipe open to write. kEnd: a writer was there, and has gone.
Next next_bytes(int pipe, int wait_ms, std::string* text) {
  pollfd waiting{.fd = pipe, .events = POLLIN, .revents = 0};
  if (poll(&waiting, 1, wait_ms) < 0) return errno == EINTR ? Next::kBytes : Next::kFailed;
  std::array<char, 1 << 16> bytes{};
  const ssize_t count = read(pipe, bytes.data(), bytes.size());
  if (count > 0) text->append(bytes.data(), static_cast<std::size_t>(count));
  if (count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR))) return Next::kBytes;
  if (count < 0) return Next::kFailed;
  return (waiting.revents & POLLHUP) != 0 || !text->empty() ? Next::kEnd : Next::kNobody;
}

}  // namespace

bool is_pipe(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_fifo(path, error);
}

absl::StatusOr<std::string> read_pipe(const std::string& path, std::size_t most, std::chrono::milliseconds patience) {
  // A pipe does not tell its reader that a writer has come.
  const int look_ms = static_cast<int>(std::min<std::int64_t>(patience.count(), 50));
  const int pipe = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (pipe < 0) return absl::NotFoundError(absl::StrCat(path, " cannot be read: ", std::strerror(errno)));
  const absl::Cleanup close_pipe = [pipe] { close(pipe); };
  const auto begin = Clock::now();
  std::string text;
  for (;;) {
    const Next next = next_bytes(pipe, look_ms, &text);
    if (next == Next::kEnd || text.size() > most) return text;
    if (next == Next::kFailed)
      return absl::NotFoundError(absl::StrCat(path, " cannot be read: ", std::strerror(errno)));
    if (next == Next::kNobody && Clock::now() - begin >= patience)
      return absl::NotFoundError(absl::StrCat(path, " cannot be read: it is a pipe, and nobody writes to it"));
  }
}

}  // namespace castscope::report
