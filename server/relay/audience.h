// Knows whether somebody watches the run while it goes on. The collector says so in its answers, a few times a second;
// the last word of a collector that is silent, or away, holds for a while.
#pragma once

#include <chrono>
#include <optional>

namespace castscope::relay {

class Audience {
 public:
  using Clock = std::chrono::steady_clock;
  // A page that is reloaded, or a collector that starts again, is back within this time.
  static constexpr std::chrono::seconds kStays{5};

  // `watched`: an answer since the last call said that somebody watches.
  void hear(bool watched, Clock::time_point now) {
    if (watched) seen_ = now;
  }
  bool is_there(Clock::time_point now) const { return seen_.has_value() && now - *seen_ < kStays; }

 private:
  std::optional<Clock::time_point> seen_;
};

}  // namespace castscope::relay
