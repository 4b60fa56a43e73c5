#include "server/store/trackers/scaler_tracker.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace castscope::store {

void ScalerTracker::begin_round(Lane& at, bool after_backward) {
  at.after_backward = after_backward;
  at.scaled = at.unscaling = false;
  at.in_hand = 0;
  at.past_scaler = {};
}

// That a step outside the scaler took scaled gradients shows when each loss had been scaled, or when the scaler
// unscales others of the only backward that it can have taken them from.
void ScalerTracker::note_step_past_scaler(Lane& at) {
  const bool others_scaled = at.scaled && at.backwards == 1 && at.scales == 0;
  if (at.step_past_scaler == 0 && (others_scaled || at.all_scaled())) at.step_past_scaler = at.past_scaler;
}

void ScalerTracker::backward(std::uint32_t lane_id) {
  Lane& at = lane(lane_id);
  // This pass adds its gradients to those that wait for the optimizer, which were made with another scale.
  if (at.early_update != 0 && at.update_between_backwards == 0) at.update_between_backwards = at.early_update;
  at.early_update = {};
  at.gradients = true;
  ++at.backwards;
  begin_round(at, /*after_backward=*/true);
}

void ScalerTracker::scale(std::uint32_t lane_id) {
  ++lane(lane_id).scales;
  ++use_.scales;
  changed_ = true;
}

void ScalerTracker::clip(std::uint32_t lane_id, FactId fact) {
  Lane& at = lane(lane_id);
  if (at.after_backward && !at.scaled && at.all_scaled() && at.clip_before_unscale == 0) at.clip_before_unscale = fact;
}

void ScalerTracker::unscale(std::uint32_t lane_id, StackId stack, bool not_finite) {
  Lane& at = lane(lane_id);
  // An event for each device and dtype among the gradients of one optimizer.
  const bool same_call = at.unscaling && at.unscale_at == stack;
  if (!same_call) {
    ++use_.unscales;
    ++at.in_hand;
    at.call_not_finite = false;
  }
  at.unscaling = true;
  at.unscale_at = stack;
  if (not_finite && !at.call_not_finite) ++use_.not_finite;
  at.call_not_finite |= not_finite;
  at.skipped |= not_finite;
  at.scaled = true;
  note_step_past_scaler(at);
  changed_ = true;
}

void ScalerTracker::update(std::uint32_t lane_id, FactId fact, double before, double after) {
  Lane& at = lane(lane_id);
  ++use_.updates;
  if (fact != 0) use_.last_update = fact;
  note_scale(before);
  note_scale(after);
  at.skips = at.skipped ? at.skips + 1 : 0;
  use_.longest_skips = std::max(use_.longest_skips, at.skips);
  // Gradients that are not finite are not meant to be taken: the next round begins anew.
  at.gradients &= !at.skipped;
  at.skipped = false;
  at.early_update = at.gradients ? fact : FactId();
  at.backwards = at.scales = 0;
  begin_round(at, /*after_backward=*/false);
  changed_ = true;
}

void ScalerTracker::optimizer_step(std::uint32_t lane_id, FactId fact, bool within_scaler) {
  Lane& at = lane(lane_id);
  const bool unscaled = at.in_hand > 0;
  if (unscaled) --at.in_hand;
  if (at.after_backward && !unscaled && !within_scaler) at.past_scaler = fact;
  at.unscaling = false;
  note_step_past_scaler(at);
  at.gradients = false;
  at.early_update = {};
}

void ScalerTracker::thread_begins(std::uint32_t lane_id) {
  Lane& at = lane(lane_id);
  Lane fresh;
  fresh.update_between_backwards = at.update_between_backwards;
  fresh.step_past_scaler = at.step_past_scaler;
  fresh.clip_before_unscale = at.clip_before_unscale;
  at = fresh;
}

// Keeps the first, the last and the least scale. Anything but a positive number is not a scale.
void ScalerTracker::note_scale(double value) {
  if (!std::isfinite(value) || value <= 0) return;
  if (use_.first_scale == 0) use_.first_scale = value;
  use_.last_scale = value;
  use_.least_scale = use_.least_scale == 0 ? value : std::min(use_.least_scale, value);
}

bool ScalerTracker::take(ScalerUse* use) {
  for (Lane& at : lanes_) {
    for (const auto& [seen, told] : {std::pair(&at.update_between_backwards, &use_.update_between_backwards),
                                     std::pair(&at.step_past_scaler, &use_.step_past_scaler),
                                     std::pair(&at.clip_before_unscale, &use_.clip_before_unscale)}) {
      if (*seen != 0 && *told == 0) {
        *told = *seen;
        changed_ = true;
      }
      *seen = {};
    }
  }
  *use = use_;
  return std::exchange(changed_, false);
}

}  // namespace castscope::store
