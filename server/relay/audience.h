// Whether somebody watches the run as it goes on. The collector says so in its answers, a few times a second; one that
// is silent, or away, is taken at its last word for a while.
#pragma once

#include <chrono>
#include <optional>

namespace castscope::relay {

class Audience {
 public:
  using Clock = std::chrono::steady_clock;
  // A page that is loaded anew, or a collector that starts again, is back before that.
  static constexpr std::chrono::seconds kStays{5};

  // `watched`: an answer that came since the last call said so.
  void told(bool watched, Clock::time_point now) {
    if (watched) seen_ = now;
  }
  bool is_there(Clock::time_point now) const { return seen_.has_value() && now - *seen_ < kStays; }

 private:
  std::optional<Clock::time_point> seen_;
};

}  // namespace castscope::relay
