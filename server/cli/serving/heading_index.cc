#include "server/cli/serving/heading_index.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "agent/hash/fnv1a.h"
#include "server/cli/recording/conclusion.h"
#include "server/cli/serving/heading_json.h"
#include "server/files/plain_file.h"
#include "server/log/log.h"
#include "server/store/file/schema.h"

namespace castscope::cli {
namespace {

namespace fs = std::filesystem;

constexpr char kIndex[] = ".castscope-serve.index";
constexpr int kForm = 1;                  // of the lines
constexpr std::size_t kFewLines = 1'000;  // more than entries take: not worth a new file

// An index that begins otherwise was written by another version of castscope: this one does not read it.
std::string first_line() { return absl::StrCat("castscope serve: index ", kForm, ", run files ", store::kFormat); }

std::string checksum(std::string_view text) {
  return absl::StrCat(absl::Hex(castscope_fnv1a(CASTSCOPE_FNV1A_START, text.data(), text.size()), absl::kZeroPad16));
}

// A line is parted at blanks. A collector gives its files such names alone.
bool is_plain(const std::string& name) {
  return std::ranges::all_of(
      name, [](unsigned char c) { return absl::ascii_isalnum(c) || c == '.' || c == '_' || c == '-'; });
}

bool is_there(const std::string& path) {
  struct stat info {};
  return lstat(path.c_str(), &info) == 0;
}

std::int64_t ns_of(const timespec& time) { return time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec; }

// Opens what is in the index's place if nobody but this user may have written it; -1: nothing, or somebody else's.
int open_ours(const std::string& path) {
  const int file = open(path.c_str(), O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  struct stat info {};
  if (file < 0) return -1;
  if (fstat(file, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == geteuid() && (info.st_mode & 022) == 0)
    return file;
  close(file);
  return -1;
}

std::string text_of(int file) {
  const int copy = fcntl(file, F_DUPFD_CLOEXEC, 0);
  const auto plain = copy >= 0 ? files::PlainFile::of(copy) : absl::UnavailableError("no descriptor is left");
  return plain.ok() ? plain->text().value_or("") : "";
}

}  // namespace

HeadingIndex::HeadingIndex(std::string folder, Clock clock)
    : folder_(std::move(folder)), path_((fs::path(folder_) / kIndex).string()), clock_(std::move(clock)) {}

HeadingIndex::~HeadingIndex() {
  if (file_ >= 0) close(file_);
}

// Nothing: the file is not there, or may be written: a log is beside it.
std::optional<HeadingIndex::Version> HeadingIndex::finished_version(const std::string& run_file) {
  struct stat info {};
  if (lstat(run_file.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  if (is_there(run_file + "-wal") || is_there(run_file + "-journal")) return std::nullopt;
  return Version{.inode = info.st_ino,
                 .size = static_cast<std::uint64_t>(info.st_size),
                 .modified_ns = ns_of(info.st_mtim),
                 .changed_ns = ns_of(info.st_ctim)};
}

absl::StatusOr<store::RunHeading> HeadingIndex::read(const std::string& run_file) {
  const std::optional<Version> version = finished_version(run_file);
  if (version) {
    const std::lock_guard lock(mutex_);
    load();
    const auto found = entries_.find(fs::path(run_file).filename().string());
    if (found != entries_.end() && found->second.version == *version)
      if (auto heading = heading_of(found->second.heading)) return *std::move(heading);
  }
  const std::int64_t at_ns = clock_();
  ++files_opened_;
  auto heading = store::read_heading(run_file);
  if (!heading.ok()) return heading;
  heading->start.policy.clear();
  const bool is_settled = version && at_ns - std::max(version->modified_ns, version->changed_ns) > kSettledNs;
  if (is_settled && heading->end && heading->whole && finished_version(run_file) == version)
    keep(run_file, *version, *heading);
  return heading;
}

void HeadingIndex::keep(const std::string& run_file, const Version& version, const store::RunHeading& heading) {
  const std::string name = fs::path(run_file).filename().string();
  auto json = json_of(heading);
  if (!json || !is_plain(name)) return;
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[name];
  entry = {.version = version, .heading = *std::move(json)};
  append(line_of(name, entry));
}

void HeadingIndex::forget(const std::string& run_file) {
  const std::lock_guard lock(mutex_);
  entries_.erase(fs::path(run_file).filename().string());
}

void HeadingIndex::tidy() {
  const std::lock_guard lock(mutex_);
  std::erase_if(entries_, [this](const auto& entry) {
    return finished_version((fs::path(folder_) / entry.first).string()) != entry.second.version;
  });
  if (lines_ > entries_.size() + kFewLines) write_anew();
}

std::string HeadingIndex::line_of(const std::string& name, const Entry& entry) {
  const Version& version = entry.version;
  const std::string line = absl::StrCat(name, " ", version.inode, " ", version.size, " ", version.modified_ns, " ",
                                        version.changed_ns, " ", entry.heading);
  return absl::StrCat(checksum(line), " ", line, "\n");
}

bool HeadingIndex::take_line(const std::string& line) {
  const std::pair<std::string, std::string> parts = absl::StrSplit(line, absl::MaxSplits(' ', 1));
  if (checksum(parts.second) != parts.first) return false;
  const std::vector<std::string> fields = absl::StrSplit(parts.second, absl::MaxSplits(' ', 5));
  if (fields.size() != 6) return false;
  Entry entry{.version = {}, .heading = fields[5]};
  const bool is_read =
      absl::SimpleAtoi(fields[1], &entry.version.inode) && absl::SimpleAtoi(fields[2], &entry.version.size) &&
      absl::SimpleAtoi(fields[3], &entry.version.modified_ns) && absl::SimpleAtoi(fields[4], &entry.version.changed_ns);
  if (is_read) entries_[fields[0]] = std::move(entry);
  return is_read;
}

// Called with the lock held. A damaged line costs itself: its file is read, and with that the index is written anew.
void HeadingIndex::load() {
  if (std::exchange(loaded_, true)) return;
  file_ = open_ours(path_);
  if (file_ < 0) return;
  const std::string text = text_of(file_);
  const std::vector<std::string> lines = absl::StrSplit(text, '\n');
  bool is_whole = lines.front() == first_line() && lines.back().empty();
  for (std::size_t i = 1; lines.front() == first_line() && i + 1 < lines.size(); ++i)
    is_whole = take_line(lines[i]) && is_whole;
  lines_ = lines.size() - 1;
  if (!is_whole) close(std::exchange(file_, -1));
}

// Called with the lock held. One call of write(): whoever is killed in it leaves a line that has not its checksum.
void HeadingIndex::append(const std::string& line) {
  load();
  if (given_up_) return;
  if (file_ < 0 || lines_ > 2 * entries_.size() + kFewLines) return write_anew();
  if (write(file_, line.data(), line.size()) == static_cast<ssize_t>(line.size())) {
    ++lines_;
  } else {
    close(std::exchange(file_, -1));  // what is half written is not written on
  }
}

// Called with the lock held.
void HeadingIndex::write_anew() {
  std::string text = absl::StrCat(first_line(), "\n");
  for (const auto& [name, entry] : entries_) absl::StrAppend(&text, line_of(name, entry));
  if (file_ >= 0) close(std::exchange(file_, -1));
  const absl::Status written = write_text_file(path_, text);
  if (written.ok()) file_ = open_ours(path_), lines_ = entries_.size() + 1;
  if (file_ >= 0) return;
  given_up_ = true;
  log::warn(absl::StrCat(path_, " cannot be kept", written.ok() ? "" : ": ", written.message(),
                         "; the next collector on this folder will open runs that it could know from there"));
}

}  // namespace castscope::cli
