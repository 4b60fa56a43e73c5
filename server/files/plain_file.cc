#include "server/files/plain_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace castscope::files {

absl::StatusOr<PlainFile> PlainFile::open(const std::string& path) {
  return of(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

absl::StatusOr<PlainFile> PlainFile::of(int descriptor) {
  PlainFile file;
  file.descriptor_ = descriptor;
  if (file.descriptor_ < 0 || fstat(file.descriptor_, &file.info_) != 0) {
    // A socket cannot be opened at all.
    if (errno == ENXIO) return absl::InvalidArgumentError("it is not an ordinary file");
    return absl::NotFoundError(std::strerror(errno));
  }
  if (!S_ISREG(file.info_.st_mode)) return absl::InvalidArgumentError("it is not an ordinary file");
  return file;
}

PlainFile::PlainFile(PlainFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), info_(other.info_) {}

PlainFile& PlainFile::operator=(PlainFile&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(info_, other.info_);
  return *this;
}

PlainFile::~PlainFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

absl::StatusOr<std::string> PlainFile::begin(std::size_t most) const {
  std::string text(most, '\0');
  std::size_t size = 0;
  while (size < most) {
    const ssize_t n = pread(descriptor_, text.data() + size, most - size, static_cast<off_t>(size));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return absl::NotFoundError(std::strerror(errno));
    if (n == 0) break;
    size += static_cast<std::size_t>(n);
  }
  text.resize(size);
  return text;
}

absl::StatusOr<std::string> PlainFile::text(std::size_t most) const {
  constexpr std::size_t kChunk = 64 << 10;
  const auto told = static_cast<std::size_t>(std::max<off_t>(info_.st_size, 0));  // 0 for files of /proc
  if (told > most) return absl::OutOfRangeError("it is too large");
  std::string text;
  for (std::size_t size = 0;;) {
    text.resize(size + std::max(kChunk, size == 0 ? told + 1 : 0));
    const ssize_t n = pread(descriptor_, text.data() + size, text.size() - size, static_cast<off_t>(size));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return absl::NotFoundError(std::strerror(errno));
    size += static_cast<std::size_t>(n);
    if (size > most) return absl::OutOfRangeError("it is too large");
    if (n > 0) continue;
    text.resize(size);
    return text;
  }
}

absl::StatusOr<std::string> read_plain(const std::string& path, std::size_t most) {
  const absl::StatusOr<PlainFile> file = PlainFile::open(path);
  return file.ok() ? file->text(most) : file.status();
}

std::string text_or_nothing(const std::string& path) { return read_plain(path).value_or(""); }

}  // namespace castscope::files
