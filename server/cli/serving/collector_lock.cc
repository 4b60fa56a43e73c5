#include "server/cli/serving/collector_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace castscope::cli {
namespace {

constexpr char kName[] = "/.castscope-serve.lock";

std::string holder_of(int file) {
  std::array<char, 32> text{};
  const ssize_t size = pread(file, text.data(), text.size() - 1, 0);
  const std::string process(absl::StripAsciiWhitespace(absl::string_view(text.data(), size > 0 ? size : 0)));
  return process.empty() ? "" : absl::StrCat(" (process ", process, ")");
}

}  // namespace

absl::StatusOr<std::unique_ptr<CollectorLock>> CollectorLock::take(const std::string& folder) {
  const std::string path = folder + kName;
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file < 0) return absl::PermissionDeniedError(absl::StrCat(path, " cannot be written: ", std::strerror(errno)));
  std::unique_ptr<CollectorLock> lock(new CollectorLock(file));
  if (flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    return absl::AlreadyExistsError(absl::StrCat(folder, " is another collector's already", holder_of(file),
                                                 ": one folder has one `castscope serve`; choose another --folder"));
  const std::string process = absl::StrCat(getpid(), "\n");
  if (ftruncate(file, 0) == 0) (void)!pwrite(file, process.data(), process.size(), 0);
  return lock;
}

CollectorLock::~CollectorLock() { close(file_); }

}  // namespace castscope::cli
