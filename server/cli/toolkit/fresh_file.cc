#include "server/cli/toolkit/fresh_file.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <streambuf>

#include "absl/strings/str_cat.h"

namespace castscope::cli {

// Writes to a descriptor. std::ofstream would open the name a second time, when it may already belong to another file.
class DescriptorBuffer : public std::streambuf {
 public:
  explicit DescriptorBuffer(int fd) : fd_(fd) { setp(bytes_.data(), bytes_.data() + bytes_.size()); }
  bool is_empty() const { return !wrote_ && pptr() == pbase(); }
  int error() const { return error_; }

 protected:
  int sync() override {
    for (const char* at = pbase(); at < pptr() && error_ == 0;) {
      const ssize_t taken = write(fd_, at, static_cast<std::size_t>(pptr() - at));
      if (taken < 0 && errno == EINTR) continue;
      if (taken <= 0) {
        error_ = taken < 0 ? errno : ENOSPC;
      } else {
        wrote_ = true;
        at += taken;
      }
    }
    setp(bytes_.data(), bytes_.data() + bytes_.size());
    return error_ == 0 ? 0 : -1;
  }
  int_type overflow(int_type c) override {
    if (sync() != 0) return traits_type::eof();
    if (!traits_type::eq_int_type(c, traits_type::eof())) sputc(traits_type::to_char_type(c));
    return traits_type::not_eof(c);
  }

 private:
  const int fd_;
  int error_ = 0;
  bool wrote_ = false;
  std::array<char, 64 << 10> bytes_;
};

namespace {

constexpr int kAttempts = 100;

// Opens a file in the folder of `path` under a short name: a name of the maximum length leaves no room for a suffix.
// Returns -1 and sets errno on failure.
int open_beside(const std::string& path, std::string& name) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    std::uint64_t number = 0;
    if (getrandom(&number, sizeof number, 0) != static_cast<ssize_t>(sizeof number)) return -1;
    name = (folder / absl::StrCat(".castscope-", absl::Hex(number, absl::kZeroPad16))).string();
    const int fd = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);  // the umask applies
    if (fd >= 0 || errno != EEXIST) return fd;
  }
  return -1;
}

}  // namespace

FreshFile::FreshFile(std::string path, Special special) : path_(std::move(path)) {
  struct stat info {};
  const bool is_special = special == Special::kWritten && stat(path_.c_str(), &info) == 0 && !S_ISREG(info.st_mode);
  fd_ = is_special ? open(path_.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC) : open_beside(path_, written_);
  if (fd_ < 0) error_ = errno, written_.clear();
  buffer_ = std::make_unique<DescriptorBuffer>(fd_);
  stream_ = std::make_unique<std::ostream>(buffer_.get());
}

bool FreshFile::is_empty() const { return buffer_->is_empty(); }

bool FreshFile::keep() {
  if (fd_ < 0) return false;
  stream_->flush();
  if (buffer_->error() != 0) error_ = buffer_->error();
  if (close(fd_) != 0 && error_ == 0) error_ = errno;
  fd_ = -1;
  if (error_ == 0 && !written_.empty()) {
    if (std::rename(written_.c_str(), path_.c_str()) != 0) {
      error_ = errno;
    } else {
      written_.clear();
    }
  }
  return error_ == 0;
}

FreshFile::~FreshFile() {
  if (fd_ >= 0) close(fd_);
  if (!written_.empty()) unlink(written_.c_str());
}

}  // namespace castscope::cli
