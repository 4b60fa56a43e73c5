// Marks the launches of one cast, while work on a GPU is timed.
#pragma once

#include <cstdint>

#include "agent/torch/attention.h"
#include "agent/wiring/features.h"

namespace castscope::agent {

class TimingOfCast {
 public:
  TimingOfCast(ThreadState& t, std::uint32_t site) : t_(t), site_(site) {
    if (timing()) [[unlikely]]
      cast_ = g_features.timed_cast_begins(t);
  }
  ~TimingOfCast() {
    if (cast_.work) [[unlikely]]
      g_features.timed_cast_ends(t_, cast_, site_);
  }
  TimingOfCast(const TimingOfCast&) = delete;
  TimingOfCast& operator=(const TimingOfCast&) = delete;

 private:
  ThreadState& t_;
  const std::uint32_t site_;
  TimedCast cast_;
};

}  // namespace castscope::agent
