#include "server/cli/serving/collector_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

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

// Where locks are not known, nobody holds one.
bool is_locked_by_another(int descriptor) { return flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK; }

}  // namespace

CollectorLock::CollectorLock(std::string folder) : folder_(std::move(folder)), path_(folder_ + kName) {}

CollectorLock::~CollectorLock() {
  for (const int descriptor : {file_, folder_descriptor_})
    if (descriptor >= 0) close(descriptor);
}

absl::StatusOr<std::unique_ptr<CollectorLock>> CollectorLock::take(const std::string& folder) {
  std::unique_ptr<CollectorLock> lock(new CollectorLock(folder));
  absl::Status status = lock->lock_file();
  if (status.ok()) status = lock->lock_folder();
  if (!status.ok()) return status;
  return lock;
}

bool CollectorLock::has_file() const {
  struct stat named {
  }, held{};
  return file_ >= 0 && fstat(file_, &held) == 0 && lstat(path_.c_str(), &named) == 0 && named.st_ino == held.st_ino &&
         named.st_dev == held.st_dev;
}

absl::Status CollectorLock::lock_file() {
  const int file = open(path_.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file < 0) return absl::PermissionDeniedError(absl::StrCat(path_, " cannot be written: ", std::strerror(errno)));
  if (is_locked_by_another(file)) {
    const std::string holder = holder_of(file);
    close(file);
    return absl::AlreadyExistsError(absl::StrCat(folder_, " is another collector's already", holder,
                                                 ": one folder has one `castscope serve`; choose another --folder"));
  }
  if (const int before = std::exchange(file_, file); before >= 0) close(before);
  const std::string process = absl::StrCat(getpid(), "\n");
  if (ftruncate(file, 0) == 0) (void)!pwrite(file, process.data(), process.size(), 0);
  return absl::OkStatus();
}

// Without the right to list the folder it cannot be opened, and is not locked.
absl::Status CollectorLock::lock_folder() {
  struct stat info {};
  if (stat(folder_.c_str(), &info) == 0) device_ = info.st_dev, inode_ = info.st_ino;
  folder_descriptor_ = open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder_descriptor_ < 0 || !is_locked_by_another(folder_descriptor_)) return absl::OkStatus();
  return absl::AlreadyExistsError(absl::StrCat(
      folder_, " is another collector's already, whose ", path_,
      " somebody has removed, or another program holds a lock on the folder: one folder has one `castscope serve`; "
      "choose another --folder"));
}

std::string CollectorLock::folder_trouble() const {
  struct stat info {};
  if (stat(folder_.c_str(), &info) != 0) return absl::StrCat("the folder of the runs is gone: ", std::strerror(errno));
  const bool is_same = info.st_dev == device_ && info.st_ino == inode_;
  return is_same ? "" : "another folder is in the place of the folder of the runs";
}

absl::Status CollectorLock::restore_file() { return has_file() ? absl::OkStatus() : lock_file(); }

}  // namespace castscope::cli
