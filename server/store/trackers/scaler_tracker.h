// How a process went about gradient scaling, from the events of its threads: each thread's own are in order, those of
// two threads are not, so what stands in a wrong place is told by one thread's order alone.
//
// Better silent than wrong: where events of a thread are missing, nothing is made of the order around the gap.
#pragma once

#include <cstdint>
#include <deque>

#include "server/store/run/run_data.h"

namespace castscope::store {

class ScalerTracker {
 public:
  // A fact, a stack: none = not known.
  void backward(std::uint32_t lane);
  // GradScaler scaled a loss, gradients were clipped: told in deep steps only.
  void scale(std::uint32_t lane);
  void clip(std::uint32_t lane, FactId fact);
  // `stack`: where the job unscales, which tells one call from the next.
  void unscale(std::uint32_t lane, StackId stack, bool not_finite);
  // No optimizer stepped with gradients that were unscaled on a GPU, which alone knows whether they are finite.
  void not_stepped(std::uint32_t lane) { this->lane(lane).skipped = true; }
  // The scale before and after; 0 = not known.
  void update(std::uint32_t lane, FactId fact, double before, double after);
  void optimizer_step(std::uint32_t lane, FactId fact, bool within_scaler);
  // The lane goes to another thread.
  void thread_begins(std::uint32_t lane);
  // Some of the lane's events are missing here: what was seen of its order since the last take() is void.
  void break_off(std::uint32_t lane) { this->lane(lane) = Lane(); }

  // Gives what is known; true when that is more than at the last call.
  bool take(ScalerUse* use);
  void adopt(const ScalerUse& use) { use_ = use; }  // of an earlier life of the file

 private:
  struct Lane {
    bool gradients = false;   // a backward made some, and no optimizer step took them
    bool skipped = false;     // some are not finite: GradScaler.step will take no step with them
    FactId early_update;      // an update that came while they wait
    std::uint64_t skips = 0;  // updates in a row after gradients that were not finite
    // Since the last update. Losses scaled are 0 in a step that is not deep.
    std::uint64_t backwards = 0, scales = 0;
    // Since the last backward, until the update after it:
    bool after_backward = false;
    bool scaled = false;        // GradScaler unscaled some of the gradients: they had been scaled
    std::uint32_t in_hand = 0;  // calls of unscale whose optimizer has not stepped
    FactId past_scaler;         // a step outside the scaler with gradients that nobody had unscaled
    bool unscaling = false;     // the event before was an unscale: one call makes several, at one place
    StackId unscale_at;
    bool call_not_finite = false;
    // Seen since the last take():
    FactId update_between_backwards, step_past_scaler, clip_before_unscale;
    bool all_scaled() const { return scales > 0 && scales >= backwards; }
  };
  Lane& lane(std::uint32_t id) {
    if (id >= lanes_.size()) lanes_.resize(id + 1);
    return lanes_[id];
  }
  static void begin_round(Lane&, bool after_backward);
  static void note_step_past_scaler(Lane&);
  void note_scale(double value);

  std::deque<Lane> lanes_;
  ScalerUse use_;
  bool changed_ = false;
};

}  // namespace castscope::store
