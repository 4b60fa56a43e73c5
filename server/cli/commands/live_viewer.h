// The page of `castscope run --live`: it lives as long as castscope does, and a job runs without it, too.
#pragma once

#include <memory>
#include <string>

#include "server/web/runs/runs.h"
#include "server/web/viewer.h"

namespace castscope::cli {

class LiveViewer {
 public:
  // Says where the run can be watched, or why it cannot. `port` "" = nobody asked for it.
  explicit LiveViewer(const std::string& port);
  // When the job has begun, which thus shares no thread with it.
  void start();
  // What the page shows; null without one.
  const std::shared_ptr<web::Runs>& runs() const { return runs_; }
  // Who looks at the page sees how it ended, if his browser asks in time; who is still being answered after that keeps
  // nobody waiting: the process is about to end.
  void stop(const std::string& run_file);

 private:
  void give_up(const absl::Status& status);
  void show_the_end() const;
  std::shared_ptr<web::Runs> runs_;
  std::unique_ptr<web::Viewer> viewer_;
};

}  // namespace castscope::cli
