#include "server/cli/recording/git_dirty.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "server/cli/toolkit/child.h"

namespace castscope::cli {
namespace {

// Git reads the status of each file: in a large checkout on a slow disk that takes long, and then it is not known.
constexpr std::chrono::milliseconds kAtMost{30'000}, kAfterTheJob{500};

// Files that Git does not know do not count: the run file may lie among them. The options keep Git from writing into
// the checkout, and from starting a program that the checkout names.
std::vector<std::string> status_of(const std::string& checkout) {
  return {"git",         "--no-optional-locks", "-C", checkout, "-c", "core.fsmonitor=false", "status",
          "--porcelain", "--untracked-files=no"};
}

}  // namespace

GitDirty::GitDirty(std::string checkout, std::function<void(bool)> tell)
    : deadline_((Clock::now() + kAtMost).time_since_epoch().count()) {
  if (checkout.empty()) return;
  try {
    thread_ = std::thread([this, checkout = std::move(checkout), tell = std::move(tell)] {
      const auto is_too_late = [this] { return Clock::now().time_since_epoch().count() >= deadline_; };
      const auto told = run_child(status_of(checkout), {.is_too_late = is_too_late});
      if (told.ok() && told->status == 0) tell(!told->out.empty());
    });
  } catch (const std::system_error&) {
    // No thread, no answer.
  }
}

GitDirty::~GitDirty() {
  const Clock::rep last = (Clock::now() + kAfterTheJob).time_since_epoch().count();
  deadline_ = std::min(deadline_.load(), last);
  if (thread_.joinable()) thread_.join();
}

}  // namespace castscope::cli
