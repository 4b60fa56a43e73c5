// The page of `castscope run --live`, which lives as long as castscope does (the job also runs if there is no page),
// and that of `castscope serve --web`.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/web/runs/runs.h"
#include "server/web/viewer.h"

namespace castscope::cli {

class LiveViewer {
 public:
  // Says where the run can be watched, or why it cannot. `port` "" = nobody asked for the page.
  explicit LiveViewer(const std::string& port);
  // Called when the job has begun, so that the job shares no thread with the page.
  void start();
  // The runs that the page shows; null without a page.
  const std::shared_ptr<web::Runs>& runs() const { return runs_; }
  // A viewer who looks at the page sees how the job ended, if the browser asks in time. Answers that take longer are
  // not waited for: the process is about to end.
  void stop(const std::string& run_file);

 private:
  void give_up(const absl::Status& status);
  void show_the_end() const;
  std::shared_ptr<web::Runs> runs_;
  std::unique_ptr<web::Viewer> viewer_;
};

}  // namespace castscope::cli
