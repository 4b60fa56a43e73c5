#include "server/cli/serving/serve_signals.h"

#include <unistd.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "server/log/log.h"

namespace castscope::cli {
namespace {

using std::chrono::steady_clock;

}  // namespace

void ServeSignals::hold_hangup() {
  sigset_t hangup;
  sigemptyset(&hangup);
  sigaddset(&hangup, SIGHUP);
  sigprocmask(SIG_BLOCK, &hangup, nullptr);
}

ServeSignals::ServeSignals() {
  sigset_t& awaited = shared_->awaited;
  sigemptyset(&awaited);
  sigaddset(&awaited, SIGINT);
  sigaddset(&awaited, SIGTERM);
  struct sigaction before {};
  if (sigaction(SIGHUP, nullptr, &before) == 0 && before.sa_handler != SIG_IGN) sigaddset(&awaited, SIGHUP);
  sigprocmask(SIG_BLOCK, &awaited, nullptr);
}

void ServeSignals::listen(std::chrono::milliseconds at_most, std::function<void()> on_stop) {
  std::thread([shared = shared_, at_most, on_stop = std::move(on_stop)] {
    take_signals(*shared, at_most, on_stop);
  }).detach();
}

// Returns false if no signal to stop came before `end`.
bool ServeSignals::wait_for_stop(Shared& shared, steady_clock::time_point end) {
  constexpr steady_clock::duration kAtOnce = std::chrono::hours(1);
  for (;;) {
    const steady_clock::duration left = std::min(end - steady_clock::now(), kAtOnce);
    if (left <= steady_clock::duration(0)) return false;
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
    const timespec limit{.tv_sec = seconds.count(), .tv_nsec = static_cast<long>((left - seconds).count())};
    const int came = sigtimedwait(&shared.awaited, nullptr, &limit);
    if (came == SIGINT || came == SIGTERM) return true;
    if (came != SIGHUP) continue;
    const std::lock_guard lock(shared.mutex);
    shared.reread = true;
    shared.changed.notify_all();
  }
}

void ServeSignals::take_signals(Shared& shared, std::chrono::milliseconds at_most,
                                const std::function<void()>& on_stop) {
  while (!wait_for_stop(shared, steady_clock::time_point::max())) {
  }
  on_stop();
  {
    const std::lock_guard lock(shared.mutex);
    shared.stopping = true;
  }
  shared.changed.notify_all();
  const bool again = wait_for_stop(shared, steady_clock::now() + at_most);
  log::warn(again ? "a second signal ends the collector at once: the next one on this folder goes on with open runs"
                  : "the time to stop is over: the next collector on this folder goes on with open runs");
  log::finish(std::chrono::milliseconds(100));
  _exit(0);
}

ServeSignals::Came ServeSignals::wait(std::chrono::seconds time) const {
  std::unique_lock lock(shared_->mutex);
  shared_->changed.wait_for(lock, time, [this] { return shared_->stopping || shared_->reread; });
  if (shared_->stopping) return Came::kStop;
  return std::exchange(shared_->reread, false) ? Came::kReread : Came::kNothing;
}

}  // namespace castscope::cli
