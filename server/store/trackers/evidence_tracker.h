// Finds what the events of one process show and counters cannot: what happened within one stay in an autocast region.
//
// "Region" here is the outermost open one of a thread, because the autocast cache is cleared when it ends. What is said
// to have grown grew without a clear between, by whichever thread; a clear that is told late takes back what had been
// counted across it.
//
// Two kinds of entries come back (SiteEvidence::returning) besides those that are kept again: those whose source is
// cast in a later stay at another site, where it need not be kept, and those of one forward pass that a backward pass
// follows. Everything is bounded; dropped events make the evidence a lower bound, never wrong.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "agent/lanes/format.h"
#include "server/store/run/run_data.h"
#include "server/store/trackers/clear_times.h"
#include "server/store/trackers/midway_clears.h"
#include "server/store/trackers/pass_recasts.h"

namespace castscope::store {

// The facts about a site that the tracker needs, worked out once when the site is defined.
struct SiteFacts {
  SiteId site = {};
  // The local site under which its events are evidence. Several local sites may be one of the run (`h = f(h); h = f(h)`
  // on one line): a stay is one stay of all of them.
  std::uint32_t tracked_as = 0;
  RegionId outermost_region = {};
  std::uint32_t consumer = 0;  // same for the same weight of the same module in one dtype: a hash
  bool watch_repeats = false;  // a weight or buffer whose copy is not kept
  bool may_be_kept = false;    // a weight or buffer whose copy may be kept, and is not each time
  bool raw_region = false;     // switched on without nesting: nothing clears the cache at its end
  bool in_forward = false;     // a weight that autocast casts in forward, in a region whose end clears the cache
};

class EvidenceTracker {
 public:
  void cast(std::uint32_t lane, const lanes::Event&, const SiteFacts&);
  void hit(std::uint32_t lane, const lanes::Event&);
  void enter(std::uint32_t lane, const lanes::Event&, RegionId region, bool outermost);
  void exit(std::uint32_t lane, const lanes::Event&, RegionId region);
  void clear(std::uint32_t lane, const lanes::Event&);
  void backward(std::uint32_t lane);
  // An optimizer step was taken. Several in a row, each with parameters of its own, are one.
  void optimizer(std::uint32_t lane, const lanes::Event&);
  // All events of the lane up to this time have been handed over.
  void seen(std::uint32_t lane, std::uint64_t ns) { midway_.seen(lane, ns); }
  // The lane goes to another thread: what the one before left open is not this one's.
  void thread_begins(std::uint32_t lane);
  // Some events of the lane are missing here, which is told after the events around the gap: of what was open, nothing
  // is made that depends on having seen its end.
  void break_off(std::uint32_t lane);

  // Evidence that changed since the last call: by process-local site and by run-wide region. `last`: no more events
  // will come.
  std::vector<std::pair<std::uint32_t, SiteEvidence>> take_sites(bool last);
  std::vector<RegionUse> take_regions(bool last);
  // Takes over what an earlier life of the file had.
  void adopt(const RegionUse&);

 private:
  struct OpenRegion {
    std::uint32_t serial = 0;
    RegionId region = {};
    std::uint32_t optimizer_steps = 0;  // taken by its thread while it is open
    std::uint64_t last_step = 0;        // when the latest of them was
    bool whole = true;                  // everything of it was seen so far
  };
  // From the first to the last entry of what was counted: times.
  struct Span {
    std::uint64_t first = 0, last = 0;
  };
  struct LaneState {
    std::vector<OpenRegion> open;                    // outermost first
    std::uint32_t stay = 0;                          // serial of the outermost one
    RegionId stay_region = {};                       // its definition
    std::uint64_t stay_entries = 0, stay_bytes = 0;  // put in since the last clear
    Span stay_span;
    std::vector<std::pair<RegionId, std::uint32_t>> optimizer_steps;  // (region, in a stay) since take_regions()
    RegionId ended_region = {};                                       // its end may be what clears the cache next
    bool worked = true;              // something was cast or entered, or backward called, since the last optimizer step
    RegionId uncleared_region = {};  // raw: this thread put entries into the cache and nobody of it cleared
    std::uint32_t backwards = 0;     // backward passes that it called
    std::vector<std::uint32_t> filling;  // sites that put entries into the cache since the last of them
  };
  // Sources whose copies a site kept, and that are cast in a later stay, at whatever site: theirs need not be kept
  // there (castscope keeps none of a weight that is used once a region).
  struct Again {
    std::uint32_t stay = 0, sources = 0;
    std::uint64_t last = 0, from = 0;  // when the last of them was cast, and when it had been before
  };
  struct SiteState {
    std::uint32_t stay = 0;
    std::uint32_t casts = 0, kept = 0, hits_since_kept = 0;
    std::uint64_t kept_bytes = 0;
    std::vector<std::uint32_t> contents;  // of the casts of this stay, at most kMostContents
    std::uint32_t returned = 0;           // of `kept`: as SiteEvidence::returning has it
    std::uint64_t returned_from = 0;      // when the last one that had been kept in an earlier stay was cast there
    Span kept_span, most_span;            // of `kept`, of evidence.most_kept
    std::uint32_t kept_after = 0;         // `backwards` of the lane when the first of `kept` was
    bool in_one_pass = false;             // so was the last of them
    bool filling = false;                 // is in the lane's list of them
    Again again;
    bool changed = false;
    bool first_seen = false;
    SiteEvidence evidence;
  };
  LaneState& lane_state(std::uint32_t lane) {
    if (lane >= lanes_.size()) lanes_.resize(lane + 1);
    return lanes_[lane];
  }
  // Whether it was cast at this site in this stay before, as it is.
  static bool is_cast_again(SiteState& state, std::uint32_t content) {
    if (std::find(state.contents.begin(), state.contents.end(), content) != state.contents.end()) return true;
    if (state.contents.size() < kMostContents) state.contents.push_back(content);
    return false;
  }
  SiteState& site_state(std::uint32_t site, std::uint32_t stay) {
    if (site >= sites_.size()) sites_.resize(site + 256);
    SiteState& state = sites_[site];
    if (state.stay != stay) {
      state.stay = stay;
      state.casts = 0;
      state.contents.clear();
      forget_kept(state);
    }
    return state;
  }
  static void forget_kept(SiteState& state) {
    state.kept = state.hits_since_kept = state.returned = 0;
    state.kept_bytes = state.returned_from = 0;
  }
  std::uint32_t stay_of(LaneState&, const lanes::Event&);
  void end_stay(LaneState&);
  void note_old_hit(LaneState&, const lanes::Event&);
  void kept(LaneState&, SiteState&, const lanes::Event&, const SiteFacts&, std::uint64_t cast_before);
  void comes_back(std::uint32_t site, std::uint32_t stay, std::uint64_t cast_before, std::uint64_t time);
  void note_returning(std::uint32_t site, SiteState&, std::uint32_t sources);
  void changed(std::uint32_t site, SiteState& state) {
    if (!state.changed) changed_sites_.push_back(site);
    state.changed = true;
  }
  RegionUse& region_use(RegionId region);
  void take_back();
  void settle_recasts(bool last);

  static constexpr std::uint32_t kNoRegion = 1u << 31;  // serial numbers of regions do not come this far
  // Sources remembered; beyond it all are forgotten at once: evidence stays a lower bound.
  static constexpr std::size_t kMostSources = 1 << 20, kMostContents = 64;

  std::deque<LaneState> lanes_;
  std::vector<SiteState> sites_;
  std::vector<std::uint32_t> changed_sites_;
  absl::flat_hash_map<RegionId, RegionUse> regions_;
  std::vector<RegionId> changed_regions_;
  absl::flat_hash_map<RegionId, Span> region_spans_;  // of RegionUse::most_entries
  ClearTimes clears_;
  std::uint64_t newest_kept_ = 0;
  bool late_clear_ = false;  // older than what was counted already
  MidwayClears midway_;
  PassRecasts recasts_;
  struct LastCast {
    std::uint32_t stay = 0, version = 0;
    std::uint64_t time = 0;
    std::uint32_t kept_at = 0;  // the site that last put a copy of it into the cache; 0: none did
  };
  // The stay in which a source, or a consumer, last had a cast. Both are asked: weights made anew for each use
  // (w.data, functional_call) take each other's addresses, and modules of one name may have different weights. A source
  // of another version has been written to since: its copy would have been stale.
  absl::flat_hash_map<std::uint64_t, LastCast> sources_;
  absl::flat_hash_map<std::uint32_t, std::uint32_t> consumers_;
};

}  // namespace castscope::store
