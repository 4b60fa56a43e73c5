#include "server/store/trackers/evidence_tracker.h"

#include <algorithm>
#include <utility>

#include "agent/lanes/event_views.h"

namespace castscope::store {

RegionUse& EvidenceTracker::region_use(RegionId region) {
  RegionUse& use = regions_[region];
  use.region = region;
  if (std::find(changed_regions_.begin(), changed_regions_.end(), region) == changed_regions_.end()) {
    changed_regions_.push_back(region);
  }
  return use;
}

// The outermost region the event was in. Enter and exit may have been dropped: then what is still open is told from
// the event's own region.
std::uint32_t EvidenceTracker::stay_of(LaneState& lane, const lanes::Event& event) {
  if (!lane.open.empty() && lane.open.back().serial == event.region) [[likely]] {
    return lane.stay;
  }
  while (!lane.open.empty() && lane.open.back().serial != event.region) lane.open.pop_back();
  std::uint32_t outermost = lane.open.empty() ? event.region : lane.open.front().serial;
  // Switched on without a region, or inherited from another thread: a step is the nearest thing to a stay.
  if (outermost == 0) outermost = kNoRegion | event.step;
  if (outermost != lane.stay) {
    end_stay(lane);
    lane.stay = outermost;
  }
  return outermost;
}

void EvidenceTracker::end_stay(LaneState& lane) {
  if (lane.stay_region != 0 && lane.stay_entries > 0) {
    RegionUse& known = regions_[lane.stay_region];
    if (lane.stay_entries > known.most_entries || lane.stay_bytes > known.most_bytes) {
      RegionUse& use = region_use(lane.stay_region);
      use.most_entries = std::max(use.most_entries, lane.stay_entries);
      use.most_bytes = std::max(use.most_bytes, lane.stay_bytes);
      region_spans_[lane.stay_region] = lane.stay_span;
    }
  }
  lane.stay_entries = lane.stay_bytes = 0;
  lane.stay_region = {};
}

namespace {

// A source that is known by its data is known by its shape, too: a row of a matrix is another weight than the matrix.
std::uint64_t source_of(const lanes::Event& event) {
  std::uint64_t source = as_cast(event).source();
  if (as_cast(event).by_data()) {
    for (const std::uint32_t dim : as_cast(event).all_sizes()) source = (source ^ dim) * 0x9e3779b97f4a7c15u;
  }
  return source;
}

}  // namespace

void EvidenceTracker::cast(std::uint32_t lane_id, const lanes::Event& event, const SiteFacts& facts) {
  LaneState& lane = lane_state(lane_id);
  lane.worked = true;
  const std::uint32_t stay = stay_of(lane, event);
  SiteState& state = site_state(event.site, stay);
  ++state.casts;
  if ((event.flags & lanes::kFlagFirst) && !state.first_seen) {
    state.first_seen = true;
    state.evidence.first_ns = event.duration;
    changed(event.site, state);
  }
  const bool is_kept = event.flags & lanes::kFlagKept;
  if (!is_kept && !facts.watch_repeats && !facts.may_be_kept) return;

  if (sources_.size() >= kMostSources) sources_.clear();
  const LastCast now{.stay = stay, .version = as_cast(event).version(), .time = event.time};
  const auto [source, new_source] = sources_.try_emplace(source_of(event), now);
  const auto [consumer, new_consumer] = consumers_.try_emplace(facts.consumer, stay);
  // When it was last cast before this stay, or before the cache was cleared in it; 0: it was not.
  const bool seen_before = !new_source && (source->second.stay != stay || clears_.any(source->second.time, event.time));
  const std::uint64_t cast_before = seen_before ? source->second.time : 0;
  const bool seen_in_stay = !new_source && !new_consumer && source->second.stay == stay && consumer->second == stay &&
                            source->second.version == now.version;
  const std::uint32_t kept_at = source->second.kept_at;
  if (cast_before != 0 && kept_at != 0 && (kept_at != event.site || !is_kept))
    comes_back(kept_at, stay, cast_before, event.time);
  source->second = now;
  source->second.kept_at = is_kept ? event.site : kept_at;
  consumer->second = stay;
  if (is_kept) {
    if (!lane.open.empty()) midway_.kept(lane_id, event.time);
    if (facts.in_forward && (event.flags & lanes::kFlagGradMode) != 0)
      recasts_.kept(lane_id, event.site, source_of(event), stay, now.version);
    kept(lane, state, event, facts, cast_before);
  } else if (facts.watch_repeats) {
    if (!as_cast(event).by_data() && is_cast_again(state, now.version)) ++state.evidence.repeats;
    if (seen_in_stay) ++state.evidence.same_source;
    if (state.casts > state.evidence.most_in_region) state.evidence.most_in_region = state.casts;
    changed(event.site, state);
  }
}

void EvidenceTracker::kept(LaneState& lane, SiteState& state, const lanes::Event& event, const SiteFacts& facts,
                           std::uint64_t cast_before) {
  newest_kept_ = std::max(newest_kept_, event.time);
  if (clears_.any(state.kept_span.last, event.time)) forget_kept(state);
  if (state.kept++ == 0) {
    state.kept_span.first = event.time;
    state.kept_after = lane.backwards;
    if (!std::exchange(state.filling, true)) lane.filling.push_back(event.site);
  }
  state.in_one_pass = state.kept_after == lane.backwards;
  state.kept_span.last = event.time;
  state.kept_bytes += event.bytes;
  state.hits_since_kept = 0;
  SiteEvidence& evidence = state.evidence;
  if (state.kept > evidence.most_kept) {
    evidence.most_kept = state.kept;
    evidence.most_kept_bytes = state.kept_bytes;
    evidence.hits_after_growth = 0;
    state.most_span = state.kept_span;
    changed(event.site, state);
  }
  if (cast_before != 0) {
    if (cast_before > state.returned_from) ++state.returned;
    state.returned_from = cast_before;
    note_returning(event.site, state, state.returned);
  }
  if (clears_.any(lane.stay_span.last, event.time)) end_stay(lane);
  lane.stay_region = facts.outermost_region;
  if (lane.stay_entries++ == 0) lane.stay_span.first = event.time;
  lane.stay_span.last = event.time;
  lane.stay_bytes += event.bytes;
  if (!facts.raw_region) return;
  RegionUse& use = region_use(facts.outermost_region);
  if (use.kept++ == 0) use.first_kept_step = event.step;
  use.kept_bytes += event.bytes;
  lane.uncleared_region = facts.outermost_region;
}

void EvidenceTracker::note_returning(std::uint32_t site, SiteState& state, std::uint32_t sources) {
  if (sources <= state.evidence.returning) return;
  state.evidence.returning = sources;
  changed(site, state);
}

void EvidenceTracker::comes_back(std::uint32_t site, std::uint32_t stay, std::uint64_t cast_before,
                                 std::uint64_t time) {
  SiteState& state = sites_[site];
  Again& again = state.again;
  if (again.stay != stay || clears_.any(again.last, time)) again = {.stay = stay};
  if (cast_before > again.from) ++again.sources;
  again.from = cast_before;
  again.last = time;
  note_returning(site, state, again.sources);
}

// It uses again what the forward pass before it put into the cache; autograd keeps that for it in any case.
void EvidenceTracker::backward(std::uint32_t lane_id) {
  LaneState& lane = lane_state(lane_id);
  lane.worked = true;
  ++lane.backwards;
  for (const std::uint32_t site : lane.filling) {
    SiteState& state = sites_[site];
    state.filling = false;
    if (state.in_one_pass) note_returning(site, state, state.kept);
  }
  lane.filling.clear();
  recasts_.backward(lane_id);
}

void EvidenceTracker::settle_recasts(bool last) {
  for (const auto& [site, casts] : recasts_.take(last)) {
    SiteEvidence& evidence = sites_[site].evidence;
    ++evidence.cast_passes;
    evidence.recast_passes += casts > 0;
    evidence.recast_in_pass += casts;
    changed(site, sites_[site]);
  }
}

void EvidenceTracker::hit(std::uint32_t lane_id, const lanes::Event& event) {
  LaneState& lane = lane_state(lane_id);
  lane.worked = true;
  SiteState& state = site_state(event.site, stay_of(lane, event));
  note_old_hit(lane, event);
  SiteEvidence& evidence = state.evidence;
  ++state.hits_since_kept;
  // Only worth a write when it belongs to the growth on record and has not yet outgrown it.
  if (state.kept == evidence.most_kept && evidence.hits_after_growth < evidence.most_kept &&
      state.hits_since_kept > evidence.hits_after_growth) {
    evidence.hits_after_growth = state.hits_since_kept;
    changed(event.site, state);
  }
}

// The copy may be another site's, of the same source.
void EvidenceTracker::note_old_hit(LaneState& lane, const lanes::Event& event) {
  const bool steps =
      std::any_of(lane.open.begin(), lane.open.end(), [](const auto& open) { return open.last_step != 0; });
  if (!steps) [[likely]]
    return;
  const auto source = sources_.find(source_of(event));
  if (source == sources_.end() || source->second.stay != lane.stay) return;
  const std::uint64_t made = source->second.time;
  if (clears_.any(made, event.time)) return;
  for (const OpenRegion& open : lane.open)
    if (open.whole && made < open.last_step) ++region_use(open.region).old_hits;
}

void EvidenceTracker::enter(std::uint32_t lane_id, const lanes::Event& event, RegionId region, bool outermost) {
  LaneState& lane = lane_state(lane_id);
  lane.worked = true;
  if (outermost) lane.open.clear();  // whatever was dropped, nothing is around it
  lane.open.push_back({.serial = event.region, .region = region});
  lane.ended_region = {};
  if (lane.open.size() == 1) {
    midway_.ended(lane_id, event.time);
    end_stay(lane);
    lane.stay = event.region;
  }
  if ((event.flags & lanes::kFlagInherited) == 0) ++region_use(region).entered;
}

void EvidenceTracker::exit(std::uint32_t lane_id, const lanes::Event& event, RegionId region) {
  LaneState& lane = lane_state(lane_id);
  const auto is_it = [&](const OpenRegion& open) { return open.serial == event.region; };
  const auto it = std::find_if(lane.open.begin(), lane.open.end(), is_it);
  lane.open.erase(it, lane.open.end());
  if (lane.open.empty()) {
    end_stay(lane);
    lane.stay = 0;
    lane.ended_region = region;
    midway_.ended(lane_id, event.time);
  }
  if ((event.flags & lanes::kFlagInherited) == 0) ++region_use(region).exited;
}

void EvidenceTracker::optimizer(std::uint32_t lane_id, const lanes::Event& event) {
  recasts_.optimizer();
  LaneState& lane = lane_state(lane_id);
  if (!std::exchange(lane.worked, false)) return;
  for (OpenRegion& open : lane.open) {
    // A region in which nothing was cast yet is told of late. It has a later number than those around it.
    if (open.serial > event.region) break;
    if (!open.whole) continue;
    open.last_step = event.time;
    const std::uint32_t steps = ++open.optimizer_steps;
    const auto is_it = [&](const auto& known) { return known.first == open.region; };
    const auto it = std::find_if(lane.optimizer_steps.begin(), lane.optimizer_steps.end(), is_it);
    if (it == lane.optimizer_steps.end()) {
      lane.optimizer_steps.emplace_back(open.region, steps);
    } else {
      it->second = std::max(it->second, steps);
    }
  }
}

void EvidenceTracker::clear(std::uint32_t lane_id, const lanes::Event& event) {
  clears_.add(event.time);
  late_clear_ |= event.time < newest_kept_;
  LaneState& lane = lane_state(lane_id);
  for (const OpenRegion& open : lane.open)
    if (open.whole) ++region_use(open.region).clears_within;
  if (lane.ended_region != 0 && as_clear(event).entries > 0) midway_.cleared(lane_id, event.time, lane.ended_region);
  lane.ended_region = {};
  if (lane.uncleared_region == 0) return;
  ++region_use(lane.uncleared_region).own_clears;
  lane.uncleared_region = {};
}

void EvidenceTracker::thread_begins(std::uint32_t lane_id) {
  LaneState& lane = lane_state(lane_id);
  end_stay(lane);
  midway_.forget(lane_id);
  recasts_.forget(lane_id);
  for (const std::uint32_t site : lane.filling) sites_[site].filling = false;
  auto steps = std::move(lane.optimizer_steps);
  lane = LaneState();
  lane.optimizer_steps = std::move(steps);
}

void EvidenceTracker::break_off(std::uint32_t lane_id) {
  LaneState& lane = lane_state(lane_id);
  for (OpenRegion& open : lane.open) open.whole = false;
  lane.optimizer_steps.clear();
  lane.ended_region = {};
  midway_.forget(lane_id);
  recasts_.forget(lane_id);
}

// Counted before it was known that another thread had cleared the cache meanwhile.
void EvidenceTracker::take_back() {
  if (!std::exchange(late_clear_, false)) return;
  const auto broken = [&](const Span& span) { return span.first < span.last && clears_.any(span.first, span.last); };
  for (std::uint32_t site = 0; site < sites_.size(); ++site) {
    SiteState& state = sites_[site];
    if (broken(state.kept_span)) forget_kept(state);
    if (!broken(state.most_span)) continue;
    state.most_span = {};
    state.evidence.most_kept = state.evidence.most_kept_bytes = state.evidence.hits_after_growth = 0;
    changed(site, state);
  }
  for (LaneState& lane : lanes_)
    if (broken(lane.stay_span)) lane.stay_entries = lane.stay_bytes = 0;
  for (auto& [region, span] : region_spans_) {
    if (!broken(span)) continue;
    span = {};
    RegionUse& use = region_use(region);
    use.most_entries = use.most_bytes = 0;
  }
}

std::vector<std::pair<std::uint32_t, SiteEvidence>> EvidenceTracker::take_sites(bool last) {
  take_back();
  settle_recasts(last);
  std::vector<std::pair<std::uint32_t, SiteEvidence>> taken;
  taken.reserve(changed_sites_.size());
  for (const std::uint32_t site : changed_sites_) {
    sites_[site].changed = false;
    taken.emplace_back(site, sites_[site].evidence);
  }
  changed_sites_.clear();
  return taken;
}

std::vector<RegionUse> EvidenceTracker::take_regions(bool last) {
  take_back();
  for (const RegionId region : midway_.settle(last)) ++region_use(region).cleared_midway;
  for (LaneState& lane : lanes_) {
    for (const auto& [region, steps] : lane.optimizer_steps) {
      if (steps > regions_[region].most_optimizer_steps) region_use(region).most_optimizer_steps = steps;
    }
    lane.optimizer_steps.clear();
  }
  for (LaneState& lane : lanes_) {  // stays that go on count as far as they have come
    if (lane.stay_region == 0) continue;
    const LaneState before = lane;
    end_stay(lane);
    lane.stay_region = before.stay_region;
    lane.stay_entries = before.stay_entries;
    lane.stay_bytes = before.stay_bytes;
  }
  std::vector<RegionUse> taken;
  for (const RegionId region : changed_regions_) taken.push_back(regions_[region]);
  changed_regions_.clear();
  return taken;
}

void EvidenceTracker::adopt(const RegionUse& use) { regions_[use.region] = use; }

}  // namespace castscope::store
