#include "server/cli/live_viewer.h"

#include "absl/strings/str_cat.h"
#include "server/cli/commands.h"
#include "server/report/words.h"

namespace castscope::cli {

LiveViewer::LiveViewer(const std::string& port) {
  if (port.empty()) return;
  runs_ = std::make_shared<web::Runs>();
  auto viewer = web::Viewer::on(absl::StrCat("127.0.0.1:", port), runs_);
  if (!viewer.ok()) {
    give_up(viewer.status());
    return;
  }
  viewer_ = *std::move(viewer);
  say(absl::StrCat("the run can be watched at ", viewer_->url()));
}

void LiveViewer::start() {
  if (viewer_ == nullptr) return;
  const absl::Status status = viewer_->start();
  if (!status.ok()) give_up(status);
}

void LiveViewer::stop(const std::string& run_file) {
  if (viewer_ == nullptr) return;
  (void)viewer_->stop(std::chrono::milliseconds(0));
  say(report::on_one_line(
      absl::StrCat("the page is gone with the job: `castscope view ", run_file, "` shows it again")));
}

void LiveViewer::give_up(const absl::Status& status) {
  say(absl::StrCat(status.message(), "; the job runs without the viewer"));
  runs_.reset();
  viewer_.reset();
}

}  // namespace castscope::cli
