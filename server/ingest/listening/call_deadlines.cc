#include "server/ingest/listening/call_deadlines.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>

#include "server/ingest/listening/places.h"

namespace castscope::ingest {

using Clock = std::chrono::steady_clock;

CallDeadlines::CallDeadlines(std::chrono::milliseconds patience)
    : patience_(patience), thread_([this] { cancel_until_stopped(); }) {}

CallDeadlines::~CallDeadlines() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void CallDeadlines::cancel_until_stopped() {
  std::unique_lock lock(mutex_);
  while (!stopped_) {
    if (waiting_.empty()) {
      changed_.wait(lock, [this] { return stopped_ || !waiting_.empty(); });
      continue;
    }
    const Clock::time_point due = waiting_.front().end;
    if (Clock::now() < due) {
      changed_.wait_until(lock, due);
      continue;
    }
    // It leaves the list when its thread has noticed; until then it comes last, and is told once more.
    waiting_.front().call->TryCancel();
    waiting_.front().end = Clock::now() + patience_;
    waiting_.splice(waiting_.end(), waiting_, waiting_.begin());
  }
}

CallDeadlines::Waiting::Waiting(CallDeadlines& all, grpc::ServerContext* call, const std::string& sender) : all_(all) {
  const std::lock_guard lock(all_.mutex_);
  const auto of_sender = static_cast<std::size_t>(std::ranges::count(all_.waiting_, sender, &Deadline::sender));
  may_wait_ = all_.waiting_.size() < kMost && (sender.empty() || of_sender < part_of_one_sender(kMost));
  all_.waiting_.push_back({.end = Clock::now() + all_.patience_, .call = call, .sender = sender});
  place_ = std::prev(all_.waiting_.end());
  if (all_.waiting_.size() == 1) all_.changed_.notify_one();
}

CallDeadlines::Waiting::~Waiting() {
  const std::lock_guard lock(all_.mutex_);
  all_.waiting_.erase(place_);
}

}  // namespace castscope::ingest
