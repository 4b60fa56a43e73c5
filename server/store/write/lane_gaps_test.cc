#include "server/store/write/lane_gaps.h"

#include <gtest/gtest.h>

namespace castscope::store {
namespace {

int unsure(LaneGaps& gaps, int events) {
  int count = 0;
  for (int i = 0; i < events; ++i) count += gaps.before_next();
  return count;
}

TEST(LaneGapsTest, WhereNothingIsDroppedNothingIsMissing) {
  LaneGaps gaps;
  for (std::uint64_t next = 10; next <= 50; next += 10) {
    EXPECT_EQ(unsure(gaps, 10), 0);
    EXPECT_FALSE(gaps.take_row({.lane = 1, .written = next + 5, .received = next, .next = next}));
  }
}

// Told after the events around it: it lies before the next one at the latest.
TEST(LaneGapsTest, AGapAmongWhatHasArrivedEndsWithTheNextEvent) {
  LaneGaps gaps;
  unsure(gaps, 10);
  EXPECT_TRUE(gaps.take_row({.lane = 1, .written = 10, .dropped = 3, .received = 10, .next = 10}));
  EXPECT_FALSE(gaps.take_row({.lane = 1, .written = 10, .dropped = 3, .received = 10, .next = 10}));
  EXPECT_TRUE(gaps.before_next());
  EXPECT_EQ(unsure(gaps, 20), 0);
}

// Told before: of the events 10 to 14, and 15 that follows, any may be the first after it.
TEST(LaneGapsTest, AGapAmongWhatIsOnItsWayMayBeAnywhere) {
  LaneGaps gaps;
  unsure(gaps, 10);
  EXPECT_TRUE(gaps.take_row({.lane = 1, .written = 15, .dropped = 3, .received = 10, .next = 10}));
  EXPECT_EQ(unsure(gaps, 20), 6);
}

TEST(LaneGapsTest, WhatAnEarlierLifeSawIsNotKnown) {
  LaneGaps gaps;
  gaps.adopt({.lane = 1, .written = 30, .dropped = 2, .received = 20, .next = 20});
  EXPECT_TRUE(gaps.before_next());
  EXPECT_EQ(unsure(gaps, 5), 0);
  EXPECT_FALSE(gaps.take_row({.lane = 1, .written = 30, .dropped = 2, .received = 26, .next = 26}));
}

}  // namespace
}  // namespace castscope::store
