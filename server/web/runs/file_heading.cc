#include "server/web/runs/file_heading.h"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace castscope::web {
namespace {

// A file may change twice within one tick of its file system's clock. What was read so soon after a change is read
// again, until the last change lies this far back.
constexpr std::int64_t kSettled = 2'000'000'000;

std::int64_t ns_of(const timespec& time) { return time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec; }

std::optional<FileHeading::Look::Version> version_of(const std::string& path) {
  struct stat about {};
  if (stat(path.c_str(), &about) != 0) return std::nullopt;
  return FileHeading::Look::Version{.device = about.st_dev,
                                    .inode = about.st_ino,
                                    .size = static_cast<std::uint64_t>(about.st_size),
                                    .modified_ns = ns_of(about.st_mtim),
                                    .changed_ns = ns_of(about.st_ctim)};
}

// Another try may go better: the disk was busy, or too many files were open.
bool may_pass(const absl::Status& status) {
  return !status.ok() && !absl::IsDataLoss(status) && !absl::IsInvalidArgument(status) &&
         !absl::IsUnimplemented(status);
}

}  // namespace

std::int64_t FileHeading::realtime_ns() {
  return std::chrono::system_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

FileHeading::FileHeading(std::string file, store::ReadHeading read_heading, Clock clock)
    : file_(std::move(file)), read_heading_(std::move(read_heading)), clock_(std::move(clock)), first_(look()) {}

FileHeading::Look FileHeading::look() const {
  Look look{.version = {}, .log = {}, .at_ns = clock_(), .still_there = false};
  bool with_log = false;
  {
    const std::lock_guard lock(mutex_);
    with_log = has_log_;
  }
  if (with_log) look.log = version_of(file_ + "-wal");
  const auto version = version_of(file_);
  if (!version) return look;
  look.version = *version;
  look.still_there = version->device == first_.version.device && version->inode == first_.version.inode;
  return look;
}

template <typename T>
bool FileHeading::is_current(const std::optional<Read<T>>& read, const Look& now) {
  if (!read || read->look.version != now.version || read->look.log != now.log) return false;
  const auto last_change = [](const Look::Version& version) {
    return std::max(version.modified_ns, version.changed_ns);
  };
  const std::int64_t changed =
      std::max(last_change(read->look.version), read->look.log ? last_change(*read->look.log) : std::int64_t{0});
  return read->look.at_ns - changed > kSettled && !may_pass(read->value.status());
}

absl::StatusOr<RunSummary> FileHeading::summary(const Look& look) const {
  const std::lock_guard lock(mutex_);
  if (is_current(summary_, look)) return summary_->value;
  Look now = look;
  now.log = version_of(file_ + "-wal");
  auto heading = read_heading_(file_);
  has_log_ = !heading.ok() || !heading->end || now.log;
  if (heading.ok()) {
    heading->start.policy.clear();  // the largest part of it, and no list shows it
    summary_ = {now, RunSummary{std::move(heading->start), heading->end, heading->events, heading->farewell}};
  } else {
    summary_ = {now, heading.status()};
  }
  return summary_->value;
}

absl::StatusOr<store::RunCounts> FileHeading::counts() const {
  const Look now = look();
  const std::lock_guard lock(mutex_);
  if (!is_current(counts_, now)) counts_ = {now, store::read_counts(file_)};
  return counts_->value;
}

}  // namespace castscope::web
