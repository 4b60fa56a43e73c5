#include "server/web/runs/file_run.h"

#include <new>

#include "absl/strings/str_cat.h"
#include "server/timeline/file_loader.h"

namespace castscope::web {

namespace {

// A collector that ends before the job closes the file without knowing how the job ended. Relays that have said goodbye
// have seen the end, also where they cannot tell how the job ended.
RunState state_after(const std::optional<store::RunEnd>& end, bool farewell) {
  const bool told = end && (farewell || end->complete || end->exit_status || end->signal);
  return told ? RunState::kFinished : RunState::kLost;
}

}  // namespace

FileRun::FileRun(std::string id, std::string file, FileRunOptions options)
    : FileRun(std::move(id), std::make_shared<FileHeading>(std::move(file), options.read_heading), options) {}

FileRun::FileRun(std::string id, std::shared_ptr<FileHeading> heading, FileRunOptions options)
    : RunSource(std::move(id), heading->file()), options_(std::move(options)), heading_(std::move(heading)) {}

FileRun::~FileRun() {
  stopping_ = true;
  if (thread_.joinable()) thread_.join();
}

std::shared_ptr<RunSource> FileRun::unloaded() const {
  return std::shared_ptr<FileRun>(new FileRun(id(), heading_, options_));
}

RunState FileRun::state() const {
  const FileHeading::Look look = heading_->look();
  {
    const std::lock_guard lock(mutex_);
    if (begun_ && !over_) return RunState::kLoading;
    if (!look.still_there) return RunState::kGone;
    if (snapshot_ != nullptr) return state_after(snapshot_->data().end, farewell_);
  }
  const auto told = heading_->summary(look);
  return told.ok() ? state_after(told->end, told->farewell) : RunState::kLost;
}

bool FileRun::is_gone() const { return !heading_->look().still_there; }

absl::StatusOr<RunSummary> FileRun::summary() const {
  {
    const std::lock_guard lock(mutex_);
    if (!failed_.ok()) return failed_;
    if (snapshot_ != nullptr) {
      std::uint64_t events = 0;
      for (const report::ProcessTotal& process : snapshot_->model().processes) events += process.received;
      return RunSummary{snapshot_->data().start, snapshot_->data().end, events, farewell_};
    }
  }
  return heading_->summary(heading_->look());
}

absl::StatusOr<SnapshotPtr> FileRun::snapshot() {
  begin_reading();
  std::unique_lock lock(mutex_);
  read_.wait(lock, [this] { return snapshot_ != nullptr || !failed_.ok(); });
  if (snapshot_ == nullptr) return failed_;
  return snapshot_;
}

std::shared_ptr<const timeline::Timeline> FileRun::timeline() {
  begin_reading();
  const std::lock_guard lock(mutex_);
  return timeline_;
}

double FileRun::loaded() const { return loaded_; }

std::string FileRun::unread_events() const {
  const std::lock_guard lock(mutex_);
  return std::string(events_.message());
}

bool FileRun::sources_here() const {
  const std::lock_guard lock(mutex_);
  return snapshot_ != nullptr && !options_.this_host.empty() && snapshot_->data().start.host == options_.this_host;
}

void FileRun::begin_reading() {
  const std::lock_guard lock(mutex_);
  if (begun_) return;
  begun_ = true;
  timeline_ = std::make_shared<timeline::Timeline>(options_.budget);
  thread_ = std::thread([this] {
    try {
      read();
    } catch (const std::bad_alloc&) {
      const absl::Status why =
          absl::ResourceExhaustedError(absl::StrCat(file(), ": there is not enough memory to read it"));
      end_reading(why, why);
    }
  });
}

void FileRun::read() {
  absl::Status status, events;
  const auto heading = heading_->summary(heading_->look());
  if (auto run = judging::read_and_judge(file(), options_.settings); run.ok()) {
    auto snapshot = std::make_shared<const Snapshot>(*std::move(run), 1);
    std::shared_ptr<timeline::Timeline> timeline;
    {
      const std::lock_guard lock(mutex_);
      snapshot_ = snapshot;
      farewell_ = heading.ok() && heading->farewell;
      timeline = timeline_;
    }
    read_.notify_all();
    events = timeline::load(file(), snapshot->data(), *timeline, [this](double share) {
      loaded_ = share;
      return stopping_ ? absl::CancelledError("nobody looks any more") : absl::OkStatus();
    });
  } else {
    status = absl::DataLossError(run.status().message());  // the request is not at fault
  }
  end_reading(status, events);
}

void FileRun::end_reading(const absl::Status& run, const absl::Status& events) {
  loaded_ = 1;
  const std::lock_guard lock(mutex_);
  failed_ = run;
  events_ = events;
  over_ = true;
  read_.notify_all();
}

}  // namespace castscope::web
