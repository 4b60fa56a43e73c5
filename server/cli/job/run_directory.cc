#include "server/cli/job/run_directory.h"

#include <fcntl.h>
#include <sys/random.h>
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

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "agent/hash/fnv1a.h"
#include "agent/preload/unfiled.h"
#include "server/cli/job/proc.h"
#include "server/files/plain_file.h"
#include "server/relay/process.h"

namespace castscope::cli {
namespace {

namespace fs = std::filesystem;

// In the order of agent/preload/run_directory.c.
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
  for (fs::directory_iterator at(folder, error); !error && at != fs::directory_iterator(); at.increment(error)) {
    result.push_back(at->path());
  }
  std::sort(result.begin(), result.end());
  return result;
}

bool is_number(absl::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == absl::string_view::npos;
}

// Whether it is "run-<seconds>-<nanoseconds>-<pid>", the form that create() and agent/preload/run_directory.c make.
bool is_run_id(absl::string_view name) {
  const std::vector<absl::string_view> parts = absl::StrSplit(name, '-');
  return parts.size() == 4 && (parts[0] == "run" || parts[0] == "bare") && is_number(parts[1]) && is_number(parts[2]) &&
         is_number(parts[3]);
}

// Whether the name is on the header's list; files that belong to a process begin with its number.
bool is_castscopes(absl::string_view name) {
  static const std::vector<absl::string_view> names{
      "run.json",        "relay.lock",      "roll",         "libcastscope.so", "policy",    "control",
      kInjectedSettings, kInjectedByPython, kInjectedByGdb, kEndFile,          kMissingFile};
  if (std::ranges::find(names, name) != names.end() || absl::StartsWith(name, "said-")) return true;
  if (name == absl::StrCat(kEndFile, kNewSuffix) || name == absl::StrCat(kMissingFile, kNewSuffix)) return true;
  const std::size_t dot = name.find('.');
  const absl::string_view kind = name.substr(std::min(dot, name.size()));
  static const std::vector<absl::string_view> kinds{".lanes",    ".attached", ".unobserved",
                                                    ".replaced", ".leaving",  ".control"};
  if (std::ranges::find(kinds, kind) == kinds.end()) return false;
  const std::vector<absl::string_view> numbers = absl::StrSplit(name.substr(0, dot), '-');
  return numbers.size() <= 2 && std::all_of(numbers.begin(), numbers.end(), is_number);
}

std::string text_of(const fs::path& path) { return files::text_or_nothing(path.string()); }

// Sentences in the form of agent/preload/unfiled.h; "" where the writer was killed while writing.
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

// Makes `name` in the first base that allows it; without a name, finds or makes the first base.
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

RunDirectory::RunDirectory(std::string path) : path_(std::move(path)) {
  while (path_.size() > 1 && path_.back() == '/') path_.pop_back();
}

absl::Status RunDirectory::check() const {
  const auto refuse = [this](absl::string_view why) {
    return absl::InvalidArgumentError(
        absl::StrCat(path_, " is not a run directory (", why, "): `castscope recover --list` shows what there is"));
  };
  struct stat info;
  if (lstat(path_.c_str(), &info) != 0) return refuse(strerror(errno));
  if (!S_ISDIR(info.st_mode)) return refuse("it is not a folder");
  if (!is_run_id(id())) return refuse("its name is not made of run- or bare- and three numbers");
  if (info.st_uid != geteuid()) return refuse("it belongs to somebody else");
  if ((info.st_mode & 077) != 0) return refuse("it is open to others");
  const std::vector<fs::path> files = files_in(path_);
  const bool has_ours = std::any_of(files.begin(), files.end(),
                                    [](const fs::path& file) { return is_castscopes(file.filename().string()); });
  return files.empty() || has_ours ? absl::OkStatus() : refuse("nothing in it is castscope's");
}

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
      if (RunDirectory directory(path.string()); directory.check().ok()) result.push_back(std::move(directory));
    }
  }
  return result;
}

std::string new_run_key() {
  char bits[16];
  if (getrandom(bits, sizeof bits, 0) != static_cast<ssize_t>(sizeof bits)) return "";
  return absl::BytesToHexString(absl::string_view(bits, sizeof bits));
}

std::string RunDirectory::id() const { return fs::path(path_).filename().string(); }
bool RunDirectory::is_bare() const { return absl::StartsWith(id(), "bare-"); }

absl::Status RunDirectory::write_record(const RunRecord& record) const {
  nlohmann::ordered_json json = {{"command", record.command},
                                 {"cwd", record.cwd},
                                 {"stem", record.stem},
                                 {"begin_realtime_ns", record.begin_realtime_ns},
                                 {"pid", record.pid},
                                 {"pid_ticks", record.pid_ticks},
                                 {"keep_all", record.keep_all},
                                 {"job", record.job},
                                 {"collector", record.collector},
                                 {"token_proof", record.token_proof},
                                 {"relay", record.relay},
                                 {"key", record.key},
                                 {"secret", record.secret},
                                 {"redact", record.redact},
                                 {"no_source", record.no_source}};
  // It has the run's key, and the command as it was given.
  if (const int made = ::open((path_ + "/run.json").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600); made >= 0) {
    (void)fchmod(made, 0600);
    (void)::close(made);
  }
  std::ofstream file(path_ + "/run.json");
  file << json.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
  file.close();
  return file ? absl::OkStatus() : absl::UnavailableError(absl::StrCat(path_, "/run.json cannot be written"));
}

absl::StatusOr<std::string> RunDirectory::write_policy(const std::string& compiled) const {
  const std::string path = path_ + "/policy";
  std::ofstream file(path, std::ios::binary);
  file << compiled;
  file.close();
  if (!file) return absl::UnavailableError(absl::StrCat(path, " cannot be written"));
  return path;
}

std::optional<RunRecord> RunDirectory::read_record() const {
  const absl::StatusOr<std::string> text = files::read_plain(path_ + "/run.json");
  if (!text.ok()) return std::nullopt;
  nlohmann::json json = nlohmann::json::parse(*text, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  try {
    return RunRecord{json.at("command"),
                     json.at("cwd"),
                     json.at("stem"),
                     json.at("begin_realtime_ns"),
                     json.at("pid"),
                     json.at("pid_ticks"),
                     json.at("keep_all"),
                     json.value("job", ""),
                     json.value("collector", ""),
                     json.value("token_proof", ""),
                     json.value("relay", ""),
                     json.value("key", ""),
                     json.value("secret", ""),
                     json.value("redact", ""),
                     json.value("no_source", false)};
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

std::vector<std::string> RunDirectory::unrecorded() const { return those_of_unrecorded(all_said()); }

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

// Does the same as agent/preload/say.c.
void RunDirectory::note(const std::string& sentence) const {
  const std::uint64_t hash = castscope_fnv1a(CASTSCOPE_FNV1A_SHORT_START, sentence.data(), sentence.size());
  const std::string path = absl::StrCat(path_, "/said-", absl::Hex(hash, absl::kZeroPad16));
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return;
  const ssize_t ignored = write(fd, sentence.data(), sentence.size());
  (void)ignored;
  close(fd);
}

std::uint64_t RunDirectory::bytes() const {
  std::uint64_t bytes = 0;
  for (const fs::path& path : files_in(path_)) {
    struct stat info;
    if (lstat(path.c_str(), &info) == 0) bytes += static_cast<std::uint64_t>(info.st_blocks) * 512;
  }
  return bytes;
}

std::int64_t RunDirectory::made_at() const {
  const std::vector<std::string> parts = absl::StrSplit(id(), '-');
  std::int64_t seconds = 0;
  return parts.size() > 1 && absl::SimpleAtoi(parts[1], &seconds) ? seconds : 0;
}

// A process makes its file when its agent starts; the file stays empty until the first event.
bool RunDirectory::has_segments() const {
  auto files = files_in(path_);
  return std::any_of(files.begin(), files.end(), [](const fs::path& path) {
    if (path.extension() != ".lanes") return false;
    const auto file = files::PlainFile::open(path.string());
    const std::string magic = file.ok() ? file->begin(1).value_or("") : "";
    return !magic.empty() && magic[0] != '\0';
  });
}

std::vector<pid_t> RunDirectory::living_processes() const {
  std::vector<pid_t> result;
  for (const fs::path& path : files_in(path_)) {
    const pid_t pid = leading_number(path);
    const bool is_armed = path.extension() == ".control";  // no agent is in it until somebody attaches
    const bool names_process = is_armed || path.extension() == ".lanes" || path.extension() == ".attached";
    struct stat info;
    if (!names_process || pid <= 0 || stat(path.c_str(), &info) != 0) continue;
    // A process that is younger than the file is another one with the same number. Two seconds allow for the clocks'
    // resolution.
    double file_age = std::difftime(std::time(nullptr), info.st_mtime);
    if (process_age(pid) <= file_age - 2) continue;
    if (std::find(result.begin(), result.end(), pid) != result.end()) continue;
    if (access(absl::StrCat(path_, "/", pid, ".leaving").c_str(), F_OK) == 0) continue;
    if (relay::has_mapped(pid, is_armed ? "/libcastscope" : "/castscope_agent-")) result.push_back(pid);
  }
  return result;
}

bool RunDirectory::is_recorded() const {
  auto record = read_record();
  return record && is_alive(record->pid, record->pid_ticks);
}

// Deletes single names, never a tree: only castscope's own files are removed, whatever the path has become meanwhile.
bool RunDirectory::discard() const {
  const int folder = open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder < 0) return errno == ENOENT;
  bool gone = false;
  for (int round = 0; round < 3 && !gone; round++) {  // a process that goes on may have made another file meanwhile
    for (const fs::path& file : files_in(path_)) {
      const std::string name = file.filename().string();
      if (is_castscopes(name)) unlinkat(folder, name.c_str(), 0);
    }
    gone = rmdir(path_.c_str()) == 0;
  }
  close(folder);
  return gone;
}

void RunDirectory::discard_unless_segments() const {
  if (!has_segments()) discard();
}

std::vector<std::string> those_of_unrecorded(const std::vector<std::string>& said) {
  std::vector<std::string> result;
  for (const std::string& sentence : said) {
    if (sentence.empty()) {
      result.emplace_back("a process said something for which there was no room: it may be that it is not recorded");
    } else if (absl::StrContains(sentence, "not recorded") || absl::StrContains(sentence, "unobserved")) {
      result.push_back(sentence);
    }
  }
  return result;
}

}  // namespace castscope::cli
