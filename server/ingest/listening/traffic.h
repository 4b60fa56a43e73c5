// What is going on at a collector at the moment, for whoever looks after it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

namespace castscope::ingest {

struct Traffic {
  std::atomic<std::uint64_t> streams = 0;        // of relays that were let in
  std::atomic<std::uint64_t> backlog_bytes = 0;  // that these had waiting when they came, and have not sent yet
};

// One stream, from its welcome to its end.
class InTraffic {
 public:
  // `waiting`: what the relay says to have for the collector. `traffic` may be null.
  InTraffic(std::shared_ptr<Traffic> traffic, std::uint64_t waiting)
      : traffic_(std::move(traffic)), waiting_(std::min(waiting, kMostBelieved)) {
    if (traffic_ == nullptr) return;
    ++traffic_->streams;
    traffic_->backlog_bytes += waiting_;
  }
  ~InTraffic() {
    if (traffic_ == nullptr) return;
    --traffic_->streams;
    traffic_->backlog_bytes -= waiting_;
  }
  InTraffic(const InTraffic&) = delete;
  InTraffic& operator=(const InTraffic&) = delete;

  void came(std::uint64_t bytes) {
    const std::uint64_t less = std::min(waiting_, bytes);
    waiting_ -= less;
    if (traffic_ != nullptr) traffic_->backlog_bytes -= less;
  }

 private:
  static constexpr std::uint64_t kMostBelieved = std::uint64_t{1} << 40;
  const std::shared_ptr<Traffic> traffic_;
  std::uint64_t waiting_;
};

}  // namespace castscope::ingest
