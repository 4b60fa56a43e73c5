// What the events show: here, of regions.
#include "server/store/evidence_tracker.h"

#include <gtest/gtest.h>

namespace castscope::store {
namespace {

constexpr std::uint32_t kLane = 1, kRegion = 7;

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
  const SiteFacts weight{.site = 1, .outermost_region = kRegion};
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

}  // namespace
}  // namespace castscope::store
