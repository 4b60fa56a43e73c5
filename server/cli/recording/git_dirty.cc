#include "server/cli/recording/git_dirty.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "server/cli/recording/git_status.h"

namespace castscope::cli {
namespace {

// Git reads the status of each file: in a large checkout on a slow disk that takes long, and then it is not known.
constexpr std::chrono::milliseconds kAtMost{30'000}, kAfterTheJob{500};

}  // namespace

GitDirty::GitDirty(std::string checkout, std::function<void(bool)> tell)
    : deadline_((Clock::now() + kAtMost).time_since_epoch().count()) {
  if (checkout.empty()) return;
  try {
    thread_ = std::thread([this, checkout = std::move(checkout), tell = std::move(tell)] {
      const auto is_too_late = [this] { return Clock::now().time_since_epoch().count() >= deadline_; };
      if (const auto differs = differs_from_commit(checkout, is_too_late)) tell(*differs);
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
