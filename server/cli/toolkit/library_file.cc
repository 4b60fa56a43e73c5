#include "server/cli/toolkit/library_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "agent/interposed/seal.h"
#include "server/cli/toolkit/embedded.h"
#include "server/files/plain_file.h"

namespace castscope::cli {
namespace {

absl::Status cannot_be_written(const std::string& path, int error) {
  return absl::UnavailableError(absl::StrCat(path, " cannot be written: ", strerror(error)));
}

castscope_seal seal_of(std::string_view content) {
  return {CASTSCOPE_SEAL_MARK, content.size(),
          castscope_seal_hash(CASTSCOPE_FNV1A_START, content.data(), content.size())};
}

absl::Status sync(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return cannot_be_written(path, errno);
  const int error = fsync(fd) == 0 || errno == EINVAL ? 0 : errno;  // EINVAL: this file system knows no fsync
  close(fd);
  return error == 0 ? absl::OkStatus() : cannot_be_written(path, error);
}

}  // namespace

std::optional<std::string> content_of(const std::string& path) {
  absl::StatusOr<std::string> text = files::read_plain(path);
  if (!text.ok()) return std::nullopt;
  return *std::move(text);
}

absl::Status seal(const std::string& path) {
  const auto content = content_of(path);
  if (!content) return absl::UnavailableError(absl::StrCat(path, " cannot be read"));
  const castscope_seal end = seal_of(*content);
  std::ofstream file(path, std::ios::binary | std::ios::app);
  file.write(reinterpret_cast<const char*>(&end), sizeof(end));
  file.close();
  return file ? absl::OkStatus() : cannot_be_written(path, errno);
}

std::string sealed_hash(const std::string& path) {
  const auto content = content_of(path);
  castscope_seal end;
  if (!content || content->size() <= sizeof(end)) return "";
  const std::size_t bytes = content->size() - sizeof(end);
  std::memcpy(&end, content->data() + bytes, sizeof(end));
  const castscope_seal wanted = seal_of(std::string_view(*content).substr(0, bytes));
  const bool is_whole = end.mark == wanted.mark && end.bytes == wanted.bytes && end.hash == wanted.hash;
  return is_whole ? absl::StrCat(absl::Hex(end.hash, absl::kZeroPad16)) : "";
}

bool is_sealed(const std::string& path) { return !sealed_hash(path).empty(); }

absl::Status put_into_place(const std::string& from, const std::string& to) {
  absl::Status status = sync(from);
  if (!status.ok()) return status;
  if (std::rename(from.c_str(), to.c_str()) != 0) return cannot_be_written(to, errno);
  (void)sync(std::filesystem::path(to).parent_path().string());
  return absl::OkStatus();
}

absl::Status write_library(const std::string& path, std::string_view content) {
  if (holds(path, content)) return absl::OkStatus();
  const std::string fresh = absl::StrCat(path, ".", getpid());
  auto remove = absl::MakeCleanup([&] { unlink(fresh.c_str()); });
  std::ofstream file(fresh, std::ios::binary | std::ios::trunc);
  file.write(content.data(), static_cast<std::streamsize>(content.size()));
  file.close();
  if (!file || chmod(fresh.c_str(), 0755) != 0) return cannot_be_written(path, errno);
  return put_into_place(fresh, path);
}

}  // namespace castscope::cli
