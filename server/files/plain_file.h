// Files that castscope reads before or beside a job. Anybody may have put something else in their place: a pipe, whose
// reader waits for a writer, or a device. So each is opened without waiting, it is looked at what was opened, and
// nothing but an ordinary file is read. Files of /proc are ordinary ones.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"

namespace castscope::files {

inline constexpr std::size_t kMostText = std::size_t{1} << 30;  // bytes

class PlainFile {
 public:
  // The error says why in a few words, without the name: NotFound, or InvalidArgument for what is no ordinary file.
  static absl::StatusOr<PlainFile> open(const std::string& path);
  // The same for a descriptor that was opened without waiting, whose owner it becomes.
  static absl::StatusOr<PlainFile> of(int descriptor);
  PlainFile(PlainFile&&) noexcept;
  PlainFile& operator=(PlainFile&&) noexcept;
  ~PlainFile();

  const struct stat& info() const { return info_; }
  int descriptor() const { return descriptor_; }
  // Its first bytes, at most `most` of them.
  absl::StatusOr<std::string> begin(std::size_t most) const;
  // All that it holds. OutOfRange if that is more than `most` bytes.
  absl::StatusOr<std::string> text(std::size_t most = kMostText) const;

 private:
  PlainFile() = default;
  int descriptor_ = -1;
  struct stat info_ {};
};

absl::StatusOr<std::string> read_plain(const std::string& path, std::size_t most = kMostText);
// For whoever takes a file that cannot be read for one without a word.
std::string text_or_nothing(const std::string& path);

}  // namespace castscope::files
