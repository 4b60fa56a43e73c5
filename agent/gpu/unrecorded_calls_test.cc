#include "agent/gpu/unrecorded_calls.h"

#include <gtest/gtest.h>

namespace castscope::gpu {
namespace {

constexpr std::uint32_t kRounds = 3;

TEST(UnrecordedCallsTest, WorkWhoseCallIsKnownNeedsNoMore) {
  UnrecordedCalls calls(kRounds);
  for (int round = 0; round < 10; ++round) EXPECT_FALSE(calls.more_are_needed(0, false));
}

TEST(UnrecordedCallsTest, AnOrphanNeedsMoreAtOnceAndUntilTheyAreAdded) {
  UnrecordedCalls calls(kRounds);
  EXPECT_FALSE(calls.more_are_needed(0, false));
  EXPECT_TRUE(calls.more_are_needed(1, false));
  EXPECT_TRUE(calls.more_are_needed(1, false));  // the seat could not be asked in this round
  calls.added(1);
  EXPECT_FALSE(calls.more_are_needed(1, false));
}

TEST(UnrecordedCallsTest, WhatWasLaunchedBeforeIsNoReasonToAddStillMore) {
  UnrecordedCalls calls(kRounds);
  EXPECT_TRUE(calls.more_are_needed(5, false));
  calls.added(5);
  for (std::uint64_t orphans = 6; orphans <= 5 + kRounds + 1; ++orphans)
    EXPECT_FALSE(calls.more_are_needed(orphans, false)) << orphans;
  EXPECT_FALSE(calls.more_are_needed(5 + kRounds + 1, false));  // nothing new came
  EXPECT_TRUE(calls.more_are_needed(5 + kRounds + 2, false));
}

TEST(UnrecordedCallsTest, MissingTicketsCountAtAnyTime) {
  UnrecordedCalls calls(kRounds);
  calls.added(0);
  EXPECT_TRUE(calls.more_are_needed(0, true));
}

}  // namespace
}  // namespace castscope::gpu
