#include "server/cli/run_directory.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "agent/preload/unfiled.h"
#include "agent/relay/process.h"
#include "server/cli/proc.h"

namespace castscope::cli {
namespace {

namespace fs = std::filesystem;

// The order of agent/preload/run_directory.c.
std::vector<std::string> bases() {
  std::vector<std::string> result;
  if (access("/dev/shm", W_OK | X_OK) == 0) result.push_back("/dev/shm");
  const char* temporary = getenv("TMPDIR");
  if (temporary != nullptr && temporary[0] == '/') result.push_back(temporary);
  result.push_back("/tmp");
  for (std::string& base : result) absl::StrAppend(&base, "/castscope-", getuid());
  return result;
}

bool is_private(const std::string& path) {
  struct stat info;
  return lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == geteuid() &&
         (info.st_mode & 022) == 0;
}

std::vector<fs::path> files_in(const std::string& folder) {
  std::vector<fs::path> result;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) result.push_back(entry.path());
  std::sort(result.begin(), result.end());
  return result;
}

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;  // not by istreambuf_iterator: a read that fails would throw
  text << file.rdbuf();
  return text.str();
}

// Of agent/preload/unfiled.h; "" where its writer was killed over it.
std::vector<std::string> unfiled_sentences(const std::string& page) {
  std::vector<std::string> result;
  for (std::size_t at = 0; at + CASTSCOPE_UNFILED_SLOT_BYTES <= page.size(); at += CASTSCOPE_UNFILED_SLOT_BYTES) {
    if (page[at] != '\0') result.push_back(page.substr(at + 1, CASTSCOPE_UNFILED_SLOT_BYTES - 1).c_str());
  }
  return result;
}

pid_t leading_number(const fs::path& path) {
  std::string name = path.filename().string();
  int pid = 0;
  return absl::SimpleAtoi(name.substr(0, name.find_first_of(".-")), &pid) ? pid : 0;
}

// The first base in which `name` can be made, or which exists where there is no name.
absl::StatusOr<std::string> make_in_base(const std::string& name) {
  std::string why = "no place";
  for (const std::string& base : bases()) {
    if (mkdir(base.c_str(), 0700) != 0 && errno != EEXIST) {
      why = absl::StrCat(base, ": ", strerror(errno));
      continue;
    }
    std::string path = name.empty() ? base : absl::StrCat(base, "/", name);
    if (!is_private(base)) {
      why = absl::StrCat(base, " belongs to somebody else or is open to others");
    } else if (!name.empty() && mkdir(path.c_str(), 0700) != 0) {
      why = absl::StrCat(path, ": ", strerror(errno));
    } else {
      return path;
    }
  }
  return absl::UnavailableError(absl::StrCat("no run directory can be made (", why, ")"));
}

}  // namespace

absl::StatusOr<RunDirectory> RunDirectory::create() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  auto path = make_in_base(absl::StrCat("run-", now.tv_sec, "-", now.tv_nsec, "-", getpid()));
  if (!path.ok()) return path.status();
  return RunDirectory(*path);
}

absl::StatusOr<std::string> RunDirectory::base() { return make_in_base(""); }

std::vector<RunDirectory> RunDirectory::all() {
  std::vector<RunDirectory> result;
  std::vector<std::string> seen;
  for (const std::string& base : bases()) {
    if (!is_private(base) || std::find(seen.begin(), seen.end(), base) != seen.end()) continue;
    seen.push_back(base);
    for (const fs::path& path : files_in(base)) {
      std::string name = path.filename().string();
      if (is_private(path.string()) && (absl::StartsWith(name, "run-") || absl::StartsWith(name, "bare-"))) {
        result.emplace_back(path.string());
      }
    }
  }
  return result;
}

std::string RunDirectory::id() const { return fs::path(path_).filename().string(); }
bool RunDirectory::is_bare() const { return absl::StartsWith(id(), "bare-"); }

absl::Status RunDirectory::write_record(const RunRecord& record) const {
  nlohmann::ordered_json json = {{"command", record.command},  {"cwd", record.cwd},
                                 {"stem", record.stem},        {"begin_realtime_ns", record.begin_realtime_ns},
                                 {"pid", record.pid},          {"pid_ticks", record.pid_ticks},
                                 {"keep_all", record.keep_all}};
  std::ofstream file(path_ + "/run.json");
  file << json.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
  file.close();
  return file ? absl::OkStatus() : absl::UnavailableError(absl::StrCat(path_, "/run.json cannot be written"));
}

std::optional<RunRecord> RunDirectory::read_record() const {
  std::ifstream file(path_ + "/run.json");
  if (!file) return std::nullopt;
  std::ostringstream text;
  text << file.rdbuf();
  nlohmann::json json = nlohmann::json::parse(text.view(), nullptr, false);
  if (!json.is_object()) return std::nullopt;
  try {
    return RunRecord{json.at("command"), json.at("cwd"),       json.at("stem"),    json.at("begin_realtime_ns"),
                     json.at("pid"),     json.at("pid_ticks"), json.at("keep_all")};
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

std::vector<pid_t> RunDirectory::attached() const {
  std::vector<std::pair<fs::file_time_type, pid_t>> found;
  for (const fs::path& path : files_in(path_)) {
    std::error_code error;
    fs::file_time_type begin = fs::last_write_time(path, error);
    if (path.extension() == ".attached" && leading_number(path) > 0) found.emplace_back(begin, leading_number(path));
  }
  std::sort(found.begin(), found.end());
  std::vector<pid_t> result;
  for (const auto& [begin, pid] : found) result.push_back(pid);
  return result;
}

std::vector<std::string> RunDirectory::said() const {
  std::vector<std::string> result = all_said();
  std::erase(result, "");
  return result;
}

std::vector<std::string> RunDirectory::all_said() const {
  std::vector<std::string> result;
  for (const fs::path& path : files_in(path_)) {
    if (!absl::StartsWith(path.filename().string(), "said-")) continue;
    const std::string text = text_of(path);
    if (path.filename() != CASTSCOPE_UNFILED) {
      result.push_back(text);
      continue;
    }
    for (const std::string& sentence : unfiled_sentences(text)) result.push_back(sentence);
  }
  return result;
}

bool RunDirectory::tells_of_unrecorded() const {
  const std::vector<std::string> sentences = all_said();
  return std::any_of(sentences.begin(), sentences.end(), [](const std::string& sentence) {
    return sentence.empty() || absl::StrContains(sentence, "not recorded") || absl::StrContains(sentence, "unobserved");
  });
}

// A process makes its file when its agent starts; until its first event nothing is in it.
bool RunDirectory::has_segments() const {
  auto files = files_in(path_);
  return std::any_of(files.begin(), files.end(), [](const fs::path& path) {
    if (path.extension() != ".lanes") return false;
    char magic = '\0';
    return std::ifstream(path, std::ios::binary).get(magic) && magic != '\0';
  });
}

std::vector<pid_t> RunDirectory::living_processes() const {
  std::vector<pid_t> result;
  for (const fs::path& path : files_in(path_)) {
    const pid_t pid = leading_number(path);
    bool names_process = path.extension() == ".lanes" || path.extension() == ".attached";
    struct stat info;
    if (!names_process || pid <= 0 || stat(path.c_str(), &info) != 0) continue;
    // A process that is younger than its file only has the same number. Two seconds for the clocks' grains.
    double file_age = std::difftime(std::time(nullptr), info.st_mtime);
    if (process_age(pid) <= file_age - 2) continue;
    if (std::find(result.begin(), result.end(), pid) != result.end()) continue;
    if (relay::has_mapped(pid, "/castscope_agent-")) result.push_back(pid);
  }
  return result;
}

bool RunDirectory::is_recorded() const {
  auto record = read_record();
  return record && is_alive(record->pid, record->pid_ticks);
}

void RunDirectory::remove() const {
  if (has_segments()) return;
  discard();
}

void RunDirectory::discard() const {
  std::error_code error;
  fs::remove_all(path_, error);
}

}  // namespace castscope::cli
