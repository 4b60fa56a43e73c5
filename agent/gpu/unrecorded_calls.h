// Judges, once a round of the reader, whether functions of CUDA must be added to those whose calls are recorded: work
// came from a function that is not recorded, or this CUPTI puts no ticket in front of functions that were chosen
// singly.
#pragma once

#include <cstdint>

namespace castscope::gpu {

class UnrecordedCalls {
 public:
  // Launches that were made before functions were added turn out to be orphans for as long as records are kept, this
  // many rounds. They do not show that still more functions are needed.
  explicit UnrecordedCalls(std::uint32_t rounds_kept) : rounds_kept_(rounds_kept), rounds_since_(rounds_kept + 1) {}

  // `orphans`: work so far whose call is not known. Until added() is called, the answer stays what it is.
  bool more_are_needed(std::uint64_t orphans, bool no_tickets) {
    if (no_tickets || (orphans != orphans_ && rounds_since_ > rounds_kept_)) return true;
    ++rounds_since_;
    orphans_ = orphans;
    return false;
  }
  void added(std::uint64_t orphans) {
    orphans_ = orphans;
    rounds_since_ = 0;
  }

 private:
  const std::uint32_t rounds_kept_;
  std::uint32_t rounds_since_;  // since functions were added
  std::uint64_t orphans_ = 0;   // as last judged
};

}  // namespace castscope::gpu
