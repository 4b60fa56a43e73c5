#include "server/config/settings_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace castscope::config {
namespace {

namespace fs = std::filesystem;

constexpr off_t kLargestFile = 1 << 20;
constexpr int kMostLinks = 40;  // as the kernel follows
constexpr int kToRead = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;

class Opened {
 public:
  explicit Opened(int descriptor = -1) : descriptor_(descriptor) {}
  Opened(Opened&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Opened& operator=(Opened&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~Opened() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  int get() const { return descriptor_; }
  int release() { return std::exchange(descriptor_, -1); }
  bool ok() const { return descriptor_ >= 0; }

 private:
  int descriptor_;
};

absl::Status unreadable(const std::string& file, const std::string& what, int error) {
  return absl::NotFoundError(absl::StrCat(file, ": ", what, " cannot be read: ", std::strerror(error)));
}

// Where this process has no root, as in a container of one user, files of root are shown as nobody's.
bool root_is_shown() {
  std::ifstream map("/proc/self/uid_map");
  unsigned long inside = 0, outside = 0, count = 0;
  bool any = false;
  while (map >> inside >> outside >> count) {
    if (inside == 0) return true;
    any = true;
  }
  return !any;
}

bool is_trusted(const struct stat& info) {
  constexpr uid_t kNobody = 65534;
  if (info.st_uid == 0 || info.st_uid == geteuid()) return true;
  static const bool nobody_may_be_root = !root_is_shown();
  return S_ISDIR(info.st_mode) && info.st_uid == kNobody && nobody_may_be_root;
}

// Goes to a file step by step, as the kernel does, and looks at each step by the descriptor through which it goes on.
class Walk {
 public:
  Walk(const std::string& file, const std::string& what) : file_(file), what_(what) {}

  absl::StatusOr<Opened> open() {
    std::error_code error;
    const std::string path = fs::absolute(file_, error).string();
    if (error) return unreadable(file_, what_, error.value());
    push(path);
    while (!steps_.empty()) {
      const std::string step = std::exchange(steps_.back(), "");
      steps_.pop_back();
      if (step.empty() || step == ".") continue;
      if (absl::Status status = take(step); !status.ok()) return status;
    }
    return std::move(last_);
  }

 private:
  // The steps of a path, or of what a link stands for, before those that are left.
  void push(const std::string& path) {
    const std::vector<std::string> steps = absl::StrSplit(path, '/');
    steps_.insert(steps_.end(), steps.rbegin(), steps.rend());
    if (!path.starts_with('/')) return;
    folder_ = Opened(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    at_ = "/";
  }

  absl::Status take(const std::string& step) {
    if (absl::Status status = check_folder(); !status.ok()) return status;
    Opened next(openat(folder_.get(), step.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat info {};
    if (!next.ok() || fstat(next.get(), &info) != 0) return unreadable(file_, what_, errno);
    const std::string name = (fs::path(at_) / step).lexically_normal().string();
    if (S_ISLNK(info.st_mode)) return follow(next, name, info);
    if (S_ISDIR(info.st_mode)) {
      folder_ = std::move(next);
      at_ = name;
      return absl::OkStatus();
    }
    if (!steps_.empty()) return unreadable(file_, what_, ENOTDIR);
    last_ = Opened(openat(folder_.get(), step.c_str(), kToRead | O_NOFOLLOW));
    if (!last_.ok() || fstat(last_.get(), &info) != 0) return unreadable(file_, what_, errno);
    return check_file(info);
  }

  absl::Status follow(const Opened& link, const std::string& name, const struct stat& info) {
    if (!is_trusted(info)) return not_ours(name, info);
    std::array<char, PATH_MAX> to{};
    const ssize_t size = readlinkat(link.get(), "", to.data(), to.size());
    if (size < 0) return unreadable(file_, what_, errno);
    if (++links_ > kMostLinks) return unreadable(file_, what_, ELOOP);
    push(std::string(to.data(), static_cast<std::size_t>(size)));
    return absl::OkStatus();
  }

  absl::Status check_folder() const {
    struct stat info {};
    if (!folder_.ok() || fstat(folder_.get(), &info) != 0) return unreadable(file_, what_, errno);
    if (!is_trusted(info)) return not_ours(at_, info);
    if ((info.st_mode & (S_IWGRP | S_IWOTH)) == 0 || (info.st_mode & S_ISVTX) != 0) return absl::OkStatus();
    return absl::PermissionDeniedError(absl::StrCat(file_, ": others may write to the folder ", at_,
                                                    ", and could put another file in the place of ", what_,
                                                    ": `chmod go-w ", at_, "`"));
  }

  absl::Status check_file(const struct stat& info) const {
    if (!is_trusted(info))
      return absl::PermissionDeniedError(
          absl::StrCat(file_, ": ", what_, " belongs to another user (", info.st_uid, "), who could let himself in"));
    if ((info.st_mode & (S_IWGRP | S_IWOTH)) == 0) return absl::OkStatus();
    return absl::PermissionDeniedError(absl::StrCat(file_, ": others may write to ", what_,
                                                    ", and could let themselves in: `chmod go-w ", file_, "`"));
  }

  absl::Status not_ours(const std::string& name, const struct stat& info) const {
    return absl::PermissionDeniedError(absl::StrCat(file_, ": ", name, " belongs to another user (", info.st_uid,
                                                    "), who could put another file in the place of ", what_));
  }

  const std::string file_, what_;
  std::vector<std::string> steps_;  // that are left, the next one last
  Opened folder_, last_;
  std::string at_;  // the folder's name
  int links_ = 0;
};

}  // namespace

absl::StatusOr<std::string> text_of(const absl::StatusOr<files::PlainFile>& opened, const std::string& file,
                                    const std::string& what) {
  absl::StatusOr<std::string> text = opened.ok() ? opened->text(kLargestFile) : opened.status();
  if (text.ok()) return text;
  if (absl::IsNotFound(text.status()))
    return absl::NotFoundError(absl::StrCat(file, ": ", what, " cannot be read: ", text.status().message()));
  return absl::InvalidArgumentError(absl::StrCat(file, ": ", what, " must be an ordinary file of at most 1 MiB"));
}

absl::StatusOr<std::string> read_text(const std::string& file, const std::string& what) {
  return text_of(files::PlainFile::open(file), file, what);
}

absl::StatusOr<int> open_trusted(const std::string& file, const std::string& what) {
  absl::StatusOr<Opened> opened = Walk(file, what).open();
  if (!opened.ok()) return opened.status();
  if (!opened->ok()) return unreadable(file, what, EISDIR);
  return opened->release();
}

absl::StatusOr<std::string> read_trusted_text(const std::string& file, const std::string& what) {
  const absl::StatusOr<int> opened = open_trusted(file, what);
  return opened.ok() ? text_of(files::PlainFile::of(*opened), file, what) : opened.status();
}

}  // namespace castscope::config
