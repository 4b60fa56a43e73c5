// A run out of its file. Nothing is read before somebody asks; then its events come into memory in a thread of their
// own, and pictures of what is there are answered meanwhile.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "server/rules/inquiry/settings.h"
#include "server/web/runs/run_source.h"

namespace castscope::web {

struct FileRunOptions {
  rules::Settings settings = {};
  std::string this_host = {};  // runs that were recorded on it have their source files here
  timeline::Budget budget = {};
};

class FileRun final : public RunSource {
 public:
  FileRun(std::string id, std::string file, FileRunOptions options);
  ~FileRun() override;  // the reading is broken off

  RunState state() const override;
  absl::StatusOr<RunSummary> summary() const override;
  absl::StatusOr<SnapshotPtr> snapshot() override;
  std::shared_ptr<const timeline::Timeline> timeline() override;
  double loaded() const override;
  std::string unread_events() const override;
  bool sources_here() const override;
  const rules::Settings& settings() const override { return options_.settings; }
  std::shared_ptr<RunSource> unloaded() const override { return std::make_shared<FileRun>(id(), file(), options_); }

 private:
  void begin_reading();  // once
  void read();

  const FileRunOptions options_;
  const FileIdentity identity_;
  mutable std::mutex mutex_;
  std::condition_variable read_;
  bool begun_ = false, over_ = false;
  absl::Status failed_, events_;  // of reading the run, and its events
  SnapshotPtr snapshot_;
  std::shared_ptr<timeline::Timeline> timeline_;
  std::atomic<double> loaded_ = 0;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

}  // namespace castscope::web
