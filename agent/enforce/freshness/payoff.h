// Decides whether it pays to keep the copy of a weight until the weight is written, and how to prove best that the copy
// is fresh, from how often the weight was used between two writes so far. Nothing is timed: the same job keeps the same
// copies each time. No torch header here.
#pragma once

#include <cstddef>
#include <cstdint>

namespace castscope::enforce {

// How a kept copy is to be proved fresh (agent/enforce/freshness/proof.h).
enum class Proving : std::uint8_t { kNone, kSum, kTrack };  // kTrack: a sum where the kernel cannot

class Payoff {
 public:
  // `little`: the weight is too small for its pages to be tracked.
  Payoff(bool frozen, bool little) : frozen_(frozen), little_(little) {}

  // The weight was used: it was cast, or its copy served.
  void used() { ++uses_; }
  void served();
  // Called at a use that finds that the weight was written since the last one. `in_vain`: its copy had a proof that
  // never served.
  void written(bool in_vain);

  // For the copy that is about to be made; used() was called for this use.
  Proving best();

 private:
  std::uint32_t remaining() const;

  const bool frozen_, little_;
  std::uint32_t uses_ = 0;      // since it was written
  std::uint32_t expected_ = 0;  // uses between the last two writes; 0: it was not written yet
  std::uint32_t vain_ = 0;      // proofs in a row that never served
  std::uint32_t wait_ = 0;      // casts that go without a proof before the next one
};

}  // namespace castscope::enforce
