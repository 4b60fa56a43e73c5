#include "server/cli/doctor/collector_checks.h"

#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <set>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "server/cli/job/job_environment.h"
#include "server/cli/leftovers/spooled.h"
#include "server/cli/recording/spool_folder.h"
#include "server/config/amounts.h"
#include "server/relay/sending/tls_probe.h"
#include "server/report/text/words.h"

namespace castscope::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kPatience{10};
constexpr char kSpool[] = "spool", kCollector[] = "collector";

std::string megabytes(std::uint64_t bytes) { return absl::StrFormat("%.1f MB", static_cast<double>(bytes) / 1e6); }

// The folder, or the nearest one above it: there the folder would be made.
fs::path nearest(fs::path folder) {
  std::error_code error;
  while (!fs::exists(folder, error) && folder.has_relative_path()) folder = folder.parent_path();
  return folder;
}

std::uint64_t bytes_in_spool() {
  std::uint64_t bytes = 0;
  for (const std::string& file : spools()) {
    std::error_code error;
    const std::uintmax_t size = fs::file_size(file, error);
    bytes += error ? 0 : size;
  }
  return bytes;
}

// "" or why nothing more can be kept there.
std::string obstacle_in(const std::string& folder) {
  std::error_code error;
  const fs::path place = nearest(fs::absolute(folder, error));
  if (!fs::is_directory(place, error)) return absl::StrCat(place.string(), " is not a folder");
  if (access(place.c_str(), W_OK | X_OK) == 0) return "";
  return absl::StrCat(place.string(), " cannot be written: ", std::strerror(errno));
}

std::uint64_t free_bytes_at(const std::string& folder) {
  std::error_code error;
  struct statvfs disk {};
  const bool known = statvfs(nearest(fs::absolute(folder, error)).c_str(), &disk) == 0;
  return known ? static_cast<std::uint64_t>(disk.f_bavail) * disk.f_frsize : ~std::uint64_t{0};
}

std::vector<std::string> what_waits() {
  const InSpool spool = in_spool();
  std::set<std::string> runs;
  for (const relay::Waiting& one : spool.waiting) runs.insert(one.run_id);
  std::vector<std::string> said;
  if (!runs.empty())
    said.push_back(absl::StrCat(report::counted(runs.size(), "run waits", "runs wait"), " for a collector"));
  if (!spool.damaged.empty())
    said.push_back(absl::StrCat(report::counted(spool.damaged.size(), "damaged file says", "damaged files say"),
                                " no more where to go"));
  return said;
}

}  // namespace

Check check_spool() {
  const std::uint64_t most = most_spool_bytes();
  const std::string said = variable("CASTSCOPE_SPOOL_BYTES"), folder = spool_folder();
  if (!said.empty() && !config::parse_bytes(said))
    return {kSpool, "warning", absl::StrCat("CASTSCOPE_SPOOL_BYTES is \"", said, "\", which is no amount of bytes"),
            "give an amount, such as 500 MB; until then 1 GB counts"};
  if (most == 0) return {kSpool, "ok", "none: CASTSCOPE_SPOOL_BYTES is 0", ""};
  if (folder.empty())
    return {kSpool, "warning", "there is no place for it", "set CASTSCOPE_SPOOL to a folder: HOME is not set"};
  if (const std::string why = obstacle_in(folder); !why.empty())
    return {kSpool, "warning", why,
            "what a collector does not take would be lost: set CASTSCOPE_SPOOL to a folder that can be written"};
  const std::uint64_t used = bytes_in_spool(), free = free_bytes_at(folder);
  if (used >= most)
    return {kSpool, "warning", absl::StrCat(folder, " is full: ", megabytes(used), " of ", megabytes(most)),
            "castscope recover --all sends what waits there; CASTSCOPE_SPOOL_BYTES sets how much may"};
  const std::string found = absl::StrCat(folder, ": ", megabytes(used), " of ", megabytes(most));
  const std::vector<std::string> waiting = what_waits();
  if (!waiting.empty())
    return {kSpool, "warning", absl::StrCat(absl::StrJoin(waiting, ", and "), " in ", found),
            "castscope recover lists all, castscope recover --all sends what can be sent, and castscope recover "
            "--discard FILE deletes one"};
  if (free < most - used)
    return {kSpool, "warning", absl::StrCat(found, ", and the disk has ", megabytes(free), " left"),
            "free some space, or set CASTSCOPE_SPOOL to a folder on another disk"};
  return {kSpool, "ok", found, ""};
}

Check check_collector(CollectorAddress collector) {
  if (const absl::Status status = complete(collector); !status.ok())
    return {kCollector, "problem", std::string(status.message()), "fix what the message says"};
  const absl::Status status = relay::knock(collector.address, collector.tls, collector.token, kPatience);
  const std::string way = collector.tls.use ? " by TLS" : "";
  const std::string where = absl::StrCat("the collector at ", collector.address);
  const std::string why(status.message());
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return {kCollector, "ok",
              absl::StrCat(where, " answers", way, " and lets in ",
                           collector.token.empty() ? "who gives no token" : "who gives this token"),
              ""};
    case absl::StatusCode::kUnauthenticated:
      return {kCollector, "problem", absl::StrCat(where, ": ", why),
              "name the file with its token: --token-file, or CASTSCOPE_TOKEN_FILE"};
    case absl::StatusCode::kInvalidArgument:  // the address
    case absl::StatusCode::kNotFound:         // the file of authorities
      return {kCollector, "problem", why, "fix what the message says"};
    case absl::StatusCode::kUnimplemented:
      return {kCollector, "problem", absl::StrCat("who listens at ", collector.address, " is no collector"),
              "give HOST:PORT of a castscope serve"};
    default:
      break;
  }
  const std::string of_tls = relay::what_is_wrong_with_tls(collector.address, collector.tls, why);
  if (!of_tls.empty()) return {kCollector, "problem", absl::StrCat(where, ": ", of_tls), "fix what the message says"};
  return {kCollector, "problem", absl::StrCat(where, " does not answer: ", why),
          "start it: castscope serve --listen ADDRESS; or look at the address and at firewalls"};
}

}  // namespace castscope::cli
