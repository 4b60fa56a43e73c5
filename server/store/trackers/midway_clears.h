// Finds regions whose end cleared what another thread's open region had put into the cache: all threads share one
// autocast cache.
//
// Threads are read one after the other, so what happened at one time arrives at several: a clear is judged when every
// thread has been seen past it, or when they have all been read often enough since.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <vector>

#include "server/store/run/ids.h"

namespace castscope::store {

class MidwayClears {
 public:
  // The outermost open region of this lane's thread put an entry into the cache; that region ended; its end cleared
  // the cache, which was not empty. `region` is its definition.
  void kept(std::uint32_t lane, std::uint64_t ns);
  void ended(std::uint32_t lane, std::uint64_t ns);
  void cleared(std::uint32_t lane, std::uint64_t ns, RegionId region);
  // It was not seen when the region of the lane's thread ended.
  void forget(std::uint32_t lane) { ended(lane, 0); }
  // Events of the lane have been taken up to this time.
  void seen(std::uint32_t lane, std::uint64_t ns) { at(lane).seen_ns = ns; }

  // The regions whose end did so, one entry for each time. Call it after all lanes have been read. `last`: no more
  // events will come.
  std::vector<RegionId> settle(bool last);

 private:
  static constexpr std::uint64_t kOpen = std::numeric_limits<std::uint64_t>::max();
  static constexpr int kLag = 4;  // calls of settle() in which every lane has been read
  static constexpr std::size_t kMostClears = 4096, kMostStays = 64, kMostKept = 16;
  struct Stay {
    std::vector<std::uint64_t> kept_ns;  // the first ones and the last: many are kept at once, few after a clear
    std::uint64_t end_ns = kOpen;
    std::uint64_t cleared_ns = 0;  // by another thread, last
    int settles = 0;               // since it ended
    bool kept_between(std::uint64_t after, std::uint64_t before) const;
  };
  struct Lane {
    std::deque<Stay> stays;  // in which entries were kept
    std::uint64_t seen_ns = 0;
  };
  struct Clear {
    std::uint32_t lane = 0;
    RegionId region = {};
    std::uint64_t ns = 0;
    int settles = 0;
  };
  Lane& at(std::uint32_t lane) {
    if (lane >= lanes_.size()) lanes_.resize(lane + 1);
    return lanes_[lane];
  }
  enum class Verdict { kNo, kYes, kNotYet };
  Verdict judge(const Clear&, bool last);

  std::deque<Lane> lanes_;
  std::deque<Clear> clears_;
};

}  // namespace castscope::store
