// A run that is read from its file. Nothing is read before the first request; then a thread of its own loads the
// events, and meanwhile pictures show what is there.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "server/rules/inquiry/settings.h"
#include "server/web/runs/file_heading.h"
#include "server/web/runs/run_source.h"

namespace castscope::web {

struct FileRunOptions {
  rules::Settings settings = {};
  std::string this_host = {};  // source files of runs that were recorded on this host are here
  timeline::Budget budget = {};
  store::ReadHeading read_heading = [](const std::string& file) { return store::read_heading(file); };
};

class FileRun final : public RunSource {
 public:
  FileRun(std::string id, std::string file, FileRunOptions options);
  ~FileRun() override;  // stops the reading

  RunState state() const override;
  bool is_gone() const override;
  absl::StatusOr<RunSummary> summary() const override;
  absl::StatusOr<store::RunCounts> counts() const override { return heading_->counts(); }
  absl::StatusOr<SnapshotPtr> snapshot() override;
  SnapshotPtr known_snapshot() const override {
    const std::lock_guard lock(mutex_);
    return snapshot_;
  }
  std::shared_ptr<const timeline::Timeline> timeline() override;
  double loaded() const override;
  std::string unread_events() const override;
  bool sources_here() const override;
  const rules::Settings& settings() const override { return options_.settings; }
  std::shared_ptr<RunSource> unloaded() const override;

 private:
  FileRun(std::string id, std::shared_ptr<FileHeading> heading, FileRunOptions options);
  void begin_reading();  // once
  void read();
  void end_reading(const absl::Status& run, const absl::Status& events);

  const FileRunOptions options_;
  const std::shared_ptr<FileHeading> heading_;  // outlives what is in memory of the run
  mutable std::mutex mutex_;
  std::condition_variable read_;
  bool begun_ = false, over_ = false;
  absl::Status failed_, events_;  // of reading the run, and its events
  SnapshotPtr snapshot_;
  bool farewell_ = false;                         // when it was read
  std::shared_ptr<timeline::Timeline> timeline_;  // null until the reading begins
  std::atomic<double> loaded_ = 0;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

}  // namespace castscope::web
