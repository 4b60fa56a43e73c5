#include "server/cli/job/known_of_run.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "server/files/plain_file.h"

namespace castscope::cli {
namespace {

std::string known_path(const RunDirectory& directory, const char* file) {
  return absl::StrCat(directory.path(), "/", file);
}

// The file is whole at every moment: whoever is killed while writing leaves the one that was there before.
absl::Status write_known(const std::string& path, const nlohmann::ordered_json& json) {
  const std::string text = json.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  const std::string written = path + kNewSuffix;
  const int fd = ::open(written.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  bool ok = fd >= 0 && ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  ok = ok && std::rename(written.c_str(), path.c_str()) == 0;
  const int error = errno;
  if (fd >= 0) ::close(fd);
  if (ok) return absl::OkStatus();
  ::unlink(written.c_str());
  return absl::UnavailableError(absl::StrCat(path, " cannot be written: ", std::strerror(error)));
}

}  // namespace

absl::Status keep_end(const RunDirectory& directory, const JobEnd& end) {
  return write_known(known_path(directory, kEndFile), {{"exit_status", end.exit_status}, {"signal", end.signal}});
}

std::optional<JobEnd> kept_end(const RunDirectory& directory) {
  const auto json = nlohmann::json::parse(files::text_or_nothing(known_path(directory, kEndFile)), nullptr, false);
  try {
    if (json.is_object()) return JobEnd{.exit_status = json.at("exit_status"), .signal = json.at("signal")};
  } catch (const nlohmann::json::exception&) {
  }
  return std::nullopt;
}

absl::Status keep_missing(const RunDirectory& directory, const std::vector<std::string>& sentences) {
  return write_known(known_path(directory, kMissingFile), sentences);
}

std::vector<std::string> kept_missing(const RunDirectory& directory) {
  const std::string path = known_path(directory, kMissingFile);
  struct stat info;
  if (lstat(path.c_str(), &info) != 0 && errno == ENOENT) return {};
  const auto json = nlohmann::json::parse(files::text_or_nothing(path), nullptr, false);
  try {
    if (json.is_array()) return json.get<std::vector<std::string>>();
  } catch (const nlohmann::json::exception&) {
  }
  return {absl::StrCat("what the recorder of this run knew to be missing stood in ", path, ", which cannot be read")};
}

}  // namespace castscope::cli
