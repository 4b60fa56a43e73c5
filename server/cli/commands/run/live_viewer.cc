#include "server/cli/commands/run/live_viewer.h"

#include <chrono>
#include <thread>

#include "absl/strings/str_cat.h"
#include "server/cli/commands/commands.h"
#include "server/report/text/words.h"

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

// A page asks for a picture 25 times a second, or once when it does not follow the run. The answer to its next request
// says that the run is over; then it asks for everything one last time.
void LiveViewer::show_the_end() const {
  using std::chrono::milliseconds;
  constexpr milliseconds kAtMost{2500}, kQuiet{400}, kPause{10};
  const auto now = [] { return std::chrono::steady_clock::now(); };
  const auto give_up = now() + kAtMost;
  for (const web::RunPtr& run : runs_->all()) {
    if (!run->watched(now())) continue;
    while ((!run->end_told() || now() - run->last_asked() < kQuiet) && now() < give_up)
      std::this_thread::sleep_for(kPause);
  }
}

void LiveViewer::stop(const std::string& run_file) {
  if (viewer_ == nullptr) return;
  show_the_end();
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
