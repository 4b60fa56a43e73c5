// Remembers with which passes without grad mode training steps begin. A teacher's pass, or one that makes the features
// of a large batch, comes in every step, before the first region with grad mode. An evaluation comes now and then.
//
// So a pass belongs to the step that follows it if every training step so far had one from the same place. In the first
// step nothing is known yet.
//
// Thread-safe. No torch header here.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "agent/memory/own_memory.h"

namespace castscope::agent {

class OpeningPasses {
 public:
  // A region without grad mode is entered, and none with grad mode was in this step so far. `place`: where, 0 = not
  // known. Returns whether each step so far had one from there.
  bool enter(std::uint32_t place) {
    if (place == 0) return false;
    std::lock_guard lock(mutex_);
    if (!contains(in_this_, place) && in_this_.size() < kMost) in_this_.push_back(place);
    return contains(in_each_, place);
  }
  void training_step_ended() {
    std::lock_guard lock(mutex_);
    if (first_)
      in_each_ = in_this_;
    else
      std::erase_if(in_each_, [this](std::uint32_t place) { return !contains(in_this_, place); });
    first_ = false;
    in_this_.clear();
  }

 private:
  static constexpr std::size_t kMost = 32;  // places; what is beyond them is taken for an evaluation
  static bool contains(const memory::OwnVector<std::uint32_t>& places, std::uint32_t place) {
    return std::find(places.begin(), places.end(), place) != places.end();
  }

  std::mutex mutex_;
  bool first_ = true;
  memory::OwnVector<std::uint32_t> in_each_, in_this_;
};

}  // namespace castscope::agent
