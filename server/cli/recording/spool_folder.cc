#include "server/cli/recording/spool_folder.h"

#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "server/cli/job/job_environment.h"
#include "server/config/amounts.h"
#include "server/utf8/utf8.h"

namespace castscope::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMostBytes = 1'000'000'000;
constexpr std::int64_t kOldestSeconds = 30 * 86'400;
constexpr char kSuffix[] = ".spool";

struct File {
  std::string path;
  std::int64_t changed = 0;  // seconds since 1970
  std::uint64_t bytes = 0;
};

std::vector<File> files_in(const std::string& folder) {
  std::vector<File> files;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    struct stat info {};
    const std::string path = at->path().string();
    if (at->path().extension() != kSuffix || lstat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
    if (info.st_uid != geteuid()) continue;  // CASTSCOPE_SPOOL may name a folder that others use, too
    files.push_back({path, info.st_mtime, static_cast<std::uint64_t>(info.st_size)});
  }
  std::ranges::sort(
      files, [](const File& a, const File& b) { return std::tie(a.changed, a.path) < std::tie(b.changed, b.path); });
  return files;
}

// Nobody has fetched it for a month; one that somebody works with is not among them.
bool remove_if_old(const File& file, const Say& say) {
  if (file.changed > std::time(nullptr) - kOldestSeconds) return false;
  relay::Spool::Contents contents;
  const auto spool = relay::Spool::open(file.path, &contents);
  if (!spool.ok() && !absl::IsDataLoss(spool.status())) return false;
  if (unlink(file.path.c_str()) != 0) return false;
  const std::string whose = spool.ok() ? absl::StrCat("run ", contents.hello.run_id(), ", for the collector at ",
                                                      contents.destination.address)
                                       : "it was damaged, and did not say whose it was";
  if (say)
    say(utf8::on_one_line(absl::StrCat(file.path, " was deleted to make room: nobody has sent it for ",
                                       kOldestSeconds / 86'400, " days (", whose, ")")));
  return true;
}

// What is made is this user's alone. What is there already stays as it is: it may be /tmp, or a folder that others
// share.
absl::Status make_folder(const fs::path& folder) {
  std::error_code error;
  if (fs::is_directory(folder, error)) return absl::OkStatus();
  if (folder.has_relative_path() && folder.has_parent_path())
    if (absl::Status status = make_folder(folder.parent_path()); !status.ok()) return status;
  if (mkdir(folder.c_str(), 0700) == 0) return absl::OkStatus();
  const int why = errno;
  if (fs::is_directory(folder, error)) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(folder.string(), " cannot be made: ", std::strerror(why)));
}

}  // namespace

std::uint64_t most_spool_bytes() {
  const std::string said = variable("CASTSCOPE_SPOOL_BYTES");
  return said.empty() ? kMostBytes : config::parse_bytes(said).value_or(kMostBytes);
}

std::string ignored_spool_bytes() {
  const std::string said = variable("CASTSCOPE_SPOOL_BYTES");
  if (said.empty() || config::parse_bytes(said)) return "";
  return absl::StrCat("CASTSCOPE_SPOOL_BYTES is `", utf8::on_one_line(utf8::shortened(said, 60)),
                      "`, which is not an amount of bytes, such as 500 MB: it is ignored, and 1 GB counts");
}

std::string spool_folder() {
  if (most_spool_bytes() == 0) return "";
  if (const std::string folder = variable("CASTSCOPE_SPOOL"); !folder.empty()) {
    std::error_code error;
    const fs::path absolute = fs::absolute(folder, error);  // it is told, and looked for from elsewhere
    return error ? folder : absolute.string();
  }
  if (const std::string state = variable("XDG_STATE_HOME"); !state.empty() && state.front() == '/')
    return state + "/castscope/spool";
  const std::string home = variable("HOME");
  return !home.empty() && home.front() == '/' ? home + "/.local/state/castscope/spool" : "";
}

std::vector<std::string> spools() {
  std::vector<std::string> paths;
  for (File& file : files_in(spool_folder())) paths.push_back(std::move(file.path));
  return paths;
}

absl::StatusOr<std::unique_ptr<relay::Spool>> make_spool(const relay::Destination& whereto, const v1::Hello& hello,
                                                         const Say& say) {
  const std::string folder = spool_folder();
  if (folder.empty()) return absl::NotFoundError("neither CASTSCOPE_SPOOL nor HOME names a folder for it");
  if (absl::Status status = make_folder(folder); !status.ok()) return status;
  std::uint64_t used = 0;
  for (const File& file : files_in(folder))
    if (!remove_if_old(file, say)) used += file.bytes;
  const std::uint64_t most = most_spool_bytes();
  if (used >= most)
    return absl::ResourceExhaustedError(
        absl::StrCat(folder, " holds ", used, " bytes already, and may hold ", most,
                     ": `castscope recover` lists what waits there, and CASTSCOPE_SPOOL_BYTES sets how much may"));
  const std::string path = absl::StrCat(folder, "/", hello.run_id(), ".", hello.relay(), kSuffix);
  return relay::Spool::create(path, whereto, hello, most - used);
}

}  // namespace castscope::cli
