#include "server/web/http/connections.h"

#include <sys/socket.h>

#include <algorithm>
#include <tuple>

namespace castscope::web {
namespace {

// Beyond the limit, so many further connections are kept open for a moment, so that their clients learn the reason.
constexpr int kRefusedAtOnce = 16;

}  // namespace

int Connections::served() const {
  return static_cast<int>(
      std::ranges::count_if(living_, [](const auto& one) { return !one.second.refused && !one.second.ends; }));
}

// Its thread notices at once: it waits for this socket.
bool Connections::make_room() {
  const auto now = Clock::now();
  const auto rank = [&](const auto& one) { return std::make_tuple(one.second.state, one.second.since); };
  auto found = living_.end();
  for (auto one = living_.begin(); one != living_.end(); ++one) {
    const Connection& connection = one->second;
    if (connection.refused || connection.ends || connection.state == State::kAtWork) continue;
    if (connection.state == State::kSending && now - connection.since < limits_.patience_when_full) continue;
    if (found == living_.end() || rank(*one) < rank(*found)) found = one;
  }
  if (found == living_.end()) return false;
  found->second.ends = true;
  shutdown(found->first, SHUT_RDWR);
  return true;
}

Connections::Entry Connections::enter(int socket) {
  std::unique_lock lock(mutex_);
  const auto fits = [&] { return static_cast<int>(living_.size()) < limits_.connections + kRefusedAtOnce; };
  const bool refused = served() >= limits_.connections && !make_room();
  // Those that were told to end need a moment for it.
  if (!refused) changed_.wait_for(lock, std::chrono::milliseconds(100), [&] { return stopping_ || fits(); });
  if (stopping_ || !fits()) return Entry::kClosed;
  living_[socket] = {.state = State::kNew, .since = Clock::now(), .refused = refused};
  return refused ? Entry::kRefused : Entry::kServed;
}

bool Connections::goes_on(int socket, State state) {
  const std::lock_guard lock(mutex_);
  const auto found = living_.find(socket);
  if (found == living_.end() || found->second.ends) return false;
  // A new connection stays one until it has sent a whole request.
  if (state != State::kIdle || found->second.state != State::kNew) found->second.state = state;
  found->second.since = Clock::now();
  return true;
}

void Connections::gone(int socket) {
  const std::lock_guard lock(mutex_);
  living_.erase(socket);
  changed_.notify_all();
}

void Connections::stop() {
  const std::lock_guard lock(mutex_);
  stopping_ = true;
  for (auto& [socket, connection] : living_) {
    connection.ends = true;
    shutdown(socket, SHUT_RDWR);
  }
  changed_.notify_all();
}

bool Connections::stopping() const {
  const std::lock_guard lock(mutex_);
  return stopping_;
}

bool Connections::wait_until_stopping(std::chrono::milliseconds at_most) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, at_most, [this] { return stopping_; });
}

bool Connections::wait_until_all_gone(std::chrono::milliseconds at_most) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, at_most, [this] { return living_.empty(); });
}

}  // namespace castscope::web
