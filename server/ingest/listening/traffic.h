// What is going on at a collector at the moment, for whoever looks after it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace castscope::ingest {

// All functions may be called from any thread.
class Traffic {
 public:
  std::atomic<std::uint64_t> streams = 0;  // of relays that were let in

  // The bytes that relays said were waiting when they connected, less what they have sent since, by sender. Nobody can
  // check what a relay says, so the senders' numbers are kept apart: a false one hides nothing of the others'.
  std::map<std::string, std::uint64_t> backlog_bytes() const {
    const std::lock_guard lock(mutex_);
    return backlog_bytes_;
  }
  void add_backlog(const std::string& sender, std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    backlog_bytes_[sender] += bytes;
  }
  void take_backlog(const std::string& sender, std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    backlog_bytes_[sender] -= bytes;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::uint64_t> backlog_bytes_;  // a sender that came once stays: there are as many as tokens
};

// One stream, from its welcome to its end.
class InTraffic {
 public:
  // `waiting`: what the relay says to have for the collector. `traffic` may be null.
  InTraffic(std::shared_ptr<Traffic> traffic, std::string sender, std::uint64_t waiting)
      : traffic_(std::move(traffic)), sender_(std::move(sender)), waiting_(std::min(waiting, kMostBelieved)) {
    if (traffic_ == nullptr) return;
    ++traffic_->streams;
    traffic_->add_backlog(sender_, waiting_);
  }
  ~InTraffic() {
    if (traffic_ == nullptr) return;
    --traffic_->streams;
    traffic_->take_backlog(sender_, waiting_);
  }
  InTraffic(const InTraffic&) = delete;
  InTraffic& operator=(const InTraffic&) = delete;

  void came(std::uint64_t bytes) {
    const std::uint64_t less = std::min(waiting_, bytes);
    waiting_ -= less;
    if (traffic_ != nullptr && less > 0) traffic_->take_backlog(sender_, less);
  }

 private:
  static constexpr std::uint64_t kMostBelieved = std::uint64_t{1} << 40;  // sums stay within 64 bits
  const std::shared_ptr<Traffic> traffic_;
  const std::string sender_;
  std::uint64_t waiting_;
};

}  // namespace castscope::ingest
