// Tests what the events show of regions.
#include "server/store/trackers/evidence_tracker.h"
#include "agent/lanes/event_views.h"

#include <gtest/gtest.h>

#include <map>

namespace castscope::store {
namespace {

constexpr std::uint32_t kLane = 1;
constexpr RegionId kRegion(7);

lanes::Event in_region(std::uint32_t serial, std::uint8_t flags = 0) {
  lanes::Event event{};
  event.region = serial;
  event.flags = flags;
  return event;
}

TEST(EvidenceTrackerTest, ARegionIsEnteredAndLeft) {
  EvidenceTracker tracker;
  for (std::uint32_t serial = 1; serial <= 3; ++serial) tracker.enter(kLane, in_region(serial), kRegion, true);
  tracker.exit(kLane, in_region(3), kRegion);
  const std::vector<RegionUse> uses = tracker.take_regions(true);
  ASSERT_EQ(uses.size(), 1u);
  EXPECT_EQ(uses[0].entered, 3u);
  EXPECT_EQ(uses[0].exited, 1u);
}

// A DataLoader's worker, forked inside the region of a training loop.
TEST(EvidenceTrackerTest, ARegionThatAForkedProcessGoesOnInWasEnteredByItsParent) {
  EvidenceTracker tracker;
  tracker.enter(kLane, in_region(1, lanes::kFlagInherited), kRegion, true);
  const SiteFacts weight{.site = SiteId(1), .outermost_region = kRegion};
  lanes::Event cast = in_region(1, lanes::kFlagKept);
  cast.bytes = 100;
  tracker.cast(kLane, cast, weight);
  tracker.exit(kLane, in_region(1, lanes::kFlagInherited), kRegion);
  tracker.enter(kLane, in_region(2), kRegion, true);
  const std::vector<RegionUse> uses = tracker.take_regions(true);
  ASSERT_EQ(uses.size(), 1u);
  EXPECT_EQ(uses[0].entered, 1u);
  EXPECT_EQ(uses[0].exited, 0u);
  EXPECT_EQ(uses[0].most_entries, 1u) << "what it cast there counts";
}

lanes::Event cast_of(std::uint32_t site, std::uint64_t tensor, std::uint64_t time, bool kept) {
  lanes::Event event = in_region(1, kept ? lanes::kFlagKept : 0);
  event.site = site, lanes::EventWords::tensor(event) = tensor, event.time = time;
  return event;
}

// Three weights are kept at site 1 and the cache is cleared; afterwards they are cast at site 2, where no copy is kept.
TEST(EvidenceTrackerTest, WhatComesBackAtAnotherSite) {
  EvidenceTracker tracker;
  const SiteFacts first{.site = SiteId(1), .outermost_region = kRegion},
      second{.site = SiteId(2), .outermost_region = kRegion, .may_be_kept = true};
  tracker.enter(kLane, in_region(1), kRegion, true);
  for (std::uint64_t i = 1; i <= 3; ++i) tracker.cast(kLane, cast_of(1, i, i, true), first);
  lanes::Event clear{};
  clear.time = 10;
  tracker.clear(kLane, clear);
  for (std::uint64_t i = 1; i <= 3; ++i) tracker.cast(kLane, cast_of(2, i, 20 + i, false), second);
  std::map<std::uint32_t, std::uint64_t> returning;
  for (const auto& [site, evidence] : tracker.take_sites(true)) returning[site] = evidence.returning;
  EXPECT_EQ(returning[1], 3u);
}

// … of which only those of one pass count: what goes on from pass to pass grows.
TEST(EvidenceTrackerTest, ABackwardPassUsesWhatTheForwardPassPutIn) {
  for (const bool in_one_pass : {true, false}) {
    EvidenceTracker tracker;
    const SiteFacts facts{.site = SiteId(1), .outermost_region = kRegion};
    tracker.enter(kLane, in_region(1), kRegion, true);
    for (std::uint64_t i = 1; i <= 3; ++i) {
      tracker.cast(kLane, cast_of(1, i, i, true), facts);
      if (!in_one_pass || i == 3) tracker.backward(kLane);
    }
    for (const auto& [site, evidence] : tracker.take_sites(true)) EXPECT_EQ(evidence.returning, in_one_pass ? 3u : 1u);
  }
}

// The first cast sets things up. Where its event was dropped, another one is not taken for it.
TEST(EvidenceTrackerTest, TheFirstCastIsTheOneThatSaysSo) {
  EvidenceTracker tracker;
  const auto cast = [&](std::uint32_t site, std::uint32_t ns, std::uint8_t flags) {
    lanes::Event event = in_region(1, flags);
    event.site = site, event.duration = ns;
    tracker.cast(kLane, event, {.site = SiteId(site), .outermost_region = kRegion});
  };
  cast(1, 900, lanes::kFlagFirst);
  cast(1, 5, 0);
  cast(1, 700, lanes::kFlagFirst);  // of another thread
  cast(2, 5, 0);
  std::map<std::uint32_t, std::uint64_t> first;
  for (const auto& [site, evidence] : tracker.take_sites(true)) first[site] = evidence.first_ns;
  EXPECT_EQ(first[1], 900u);
  EXPECT_EQ(first[2], 0u);
}

}  // namespace
}  // namespace castscope::store
