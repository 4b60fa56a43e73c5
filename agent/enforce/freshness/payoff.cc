#include "agent/enforce/freshness/payoff.h"

#include <algorithm>
#include <utility>

namespace castscope::enforce {
namespace {

// For a weight of 4 MB in a job whose weights are larger than the processor's cache: the cast takes 350 to 500 µs, a
// sum 180 to 270. A kept copy has to be read from memory, which makes its use up to 190 µs longer than the use of a
// copy that was just made. Tracking pages costs the next writer 0.7 to 0.8 ms, and then 3 µs at each use. Measured in
// whole steps, three uses to come (four backward passes a step) gain nothing, seven hardly anything.
//
// A small weight lies in the cache; there a sum takes a third of a cast.
constexpr std::uint32_t kUses = 8, kUsesOfLittle = 1;
constexpr std::uint32_t kMany = 64;     // uses of a weight that is never written
constexpr std::uint32_t kMostVain = 6;  // after so many, 64 casts go by before the next proof

}  // namespace

void Payoff::served() {
  used();
  vain_ = 0;
}

void Payoff::written(bool in_vain) {
  if (in_vain) wait_ = 1u << (vain_ = std::min(vain_ + 1, kMostVain));
  expected_ = std::exchange(uses_, 0);
}

// The uses to come before the weight is written. Once it was used more often than expected: as many again as it
// exceeded that.
std::uint32_t Payoff::remaining() const {
  if (expected_ == 0) return frozen_ ? kMany : std::max(uses_, 1u) - 1;
  return uses_ < expected_ ? expected_ - uses_ : uses_ - expected_;
}

Proving Payoff::best() {
  if (wait_ > 0) {
    --wait_;
    return Proving::kNone;
  }
  const std::uint32_t uses = remaining();
  if (little_) return uses >= kUsesOfLittle ? Proving::kSum : Proving::kNone;
  return uses >= kUses ? Proving::kTrack : Proving::kNone;
}

}  // namespace castscope::enforce
