// When the autocast cache was emptied. It is one per process: what a thread put in, any other may clear away.
//
// Events come lane by lane, so that a clear of another thread may be told after what it cleared was counted.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>

namespace castscope::store {

class ClearTimes {
 public:
  // A loop clears once a step; 2^14 are minutes of the fastest, and a lane is told within a second or so.
  static constexpr std::size_t kMost = 1u << 14;

  void add(std::uint64_t time) {
    if (times_.empty() || time >= times_.back())
      times_.push_back(time);
    else
      times_.insert(std::upper_bound(times_.begin(), times_.end(), time), time);
    if (times_.size() <= kMost) return;
    times_.pop_front();
    forgotten_ = true;
  }
  // Whether it was emptied after `since` and not after `until`. Of what is forgotten: yes.
  bool any(std::uint64_t since, std::uint64_t until) const {
    if (times_.empty() || times_.back() <= since) return false;
    if (forgotten_ && since < times_.front()) return true;
    return *std::upper_bound(times_.begin(), times_.end(), since) <= until;
  }

 private:
  std::deque<std::uint64_t> times_;  // ascending
  bool forgotten_ = false;
};

}  // namespace castscope::store
