// Finds weights that are cast again in a later stay of one forward pass, though a copy had been kept in an earlier one:
// the region is opened inside of a loop, or twice around parts of a pass, and each time its end empties the cache.
//
// One pass is what a thread does from one call of backward to the next. Between two micro-batches there is a backward,
// between two steps an optimizer step, and to evaluation no backward belongs: none of these is a pass of its own with
// two stays. Where one casts a weight again, nobody could have kept the copy without keeping the region open over
// backward or a write, so none is counted. Nor is one counted where as many calls of backward follow as there were
// stays: these may be passes of their own, which took turns (coroutines).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace castscope::store {

class PassRecasts {
 public:
  // A weight was cast in forward, with grad mode on, and its copy kept. `source` is its tensor, `version` how often
  // that had been written to.
  void kept(std::uint32_t lane, std::uint32_t site, std::uint64_t source, std::uint32_t stay, std::uint32_t version);
  // An optimizer step was taken, by whichever thread.
  void optimizer() { ++optimizers_; }
  // The lane's thread calls backward.
  void backward(std::uint32_t lane) { ++pass_of(lane).backwards; }
  // Returns how many casts the passes that have ended since the last call made again, an entry for each pass and site;
  // 0 for a site that cast in the pass and made none again. `last`: no more will come.
  struct Recast {
    std::uint32_t site = 0, casts = 0;
  };
  std::vector<Recast> take(bool last);
  // Events of the lane are missing, or it goes to another thread.
  void forget(std::uint32_t lane);

 private:
  struct Pass {
    std::uint32_t number = 0, stays = 0, last_stay = 0, backwards = 0;
    absl::flat_hash_map<std::uint32_t, std::uint32_t> again;  // casts, by site
  };
  struct Last {
    std::uint32_t lane = 0, pass = 0, optimizers = 0, stay = 0, version = 0;
    bool operator==(const Last&) const = default;
  };
  Pass& pass_of(std::uint32_t lane) {
    if (lane >= passes_.size()) passes_.resize(lane + 1);
    return passes_[lane];
  }
  void end(Pass& pass);

  // Beyond this all are forgotten at once: the counts stay lower bounds.
  static constexpr std::size_t kMostSources = 1 << 18;

  std::deque<Pass> passes_;  // by lane
  std::vector<Recast> ended_;
  std::uint32_t optimizers_ = 0;
  absl::flat_hash_map<std::uint64_t, Last> last_;  // by source
};

}  // namespace castscope::store
