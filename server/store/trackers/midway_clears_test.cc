#include "server/store/trackers/midway_clears.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace castscope::store {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::uint32_t kMain = 1, kWorker = 2;
constexpr RegionId kWorkersRegion(7);

// A worker's region ends while the main thread's is open.
TEST(MidwayClearsTest, AnEndThatClearsWhatAnotherThreadKeptIsTold) {
  MidwayClears clears;
  clears.kept(kMain, 100);
  clears.cleared(kWorker, 200, kWorkersRegion);
  clears.ended(kMain, 300);
  clears.seen(kMain, 300);
  EXPECT_THAT(clears.settle(false), ElementsAre(kWorkersRegion));
  EXPECT_THAT(clears.settle(false), IsEmpty()) << "once";
}

TEST(MidwayClearsTest, TheOrderInWhichThreadsAreReadDoesNotMatter) {
  MidwayClears clears;
  clears.seen(kMain, 50);
  clears.cleared(kWorker, 200, kWorkersRegion);
  clears.seen(kWorker, 200);
  EXPECT_THAT(clears.settle(false), IsEmpty());
  clears.kept(kMain, 100);
  clears.ended(kMain, 300);
  clears.seen(kMain, 300);
  EXPECT_THAT(clears.settle(false), ElementsAre(kWorkersRegion));
}

// Its end is still on the way when the clear is known.
TEST(MidwayClearsTest, ARegionThatHadEndedByThenIsNotInItsMidst) {
  MidwayClears clears;
  clears.kept(kMain, 100);
  clears.seen(kMain, 110);
  clears.cleared(kWorker, 200, kWorkersRegion);
  EXPECT_THAT(clears.settle(false), IsEmpty());
  clears.ended(kMain, 150);
  clears.seen(kMain, 250);
  for (int i = 0; i < 9; ++i) EXPECT_THAT(clears.settle(i == 8), IsEmpty());
}

TEST(MidwayClearsTest, AThreadThatIsNeverSeenAgainIsTakenAsItWas) {
  MidwayClears clears;
  clears.kept(kMain, 100);
  clears.seen(kMain, 110);
  clears.cleared(kWorker, 200, kWorkersRegion);
  std::size_t told = 0;
  for (int i = 0; i < 9; ++i) told += clears.settle(false).size();
  EXPECT_EQ(told, 1u);

  MidwayClears at_the_end;
  at_the_end.kept(kMain, 100);
  at_the_end.cleared(kWorker, 200, kWorkersRegion);
  EXPECT_THAT(at_the_end.settle(true), ElementsAre(kWorkersRegion));
}

TEST(MidwayClearsTest, WhatWasClearedIsNotClearedAgain) {
  MidwayClears clears;
  clears.kept(kMain, 100);
  for (std::uint64_t ns = 200; ns < 600; ns += 100) clears.cleared(kWorker, ns, kWorkersRegion);
  clears.kept(kMain, 450);  // a cast again, which is kept again
  clears.ended(kMain, 900);
  clears.seen(kMain, 900);
  EXPECT_THAT(clears.settle(false), ElementsAre(kWorkersRegion, kWorkersRegion));
}

TEST(MidwayClearsTest, NobodyDisturbsHimself) {
  MidwayClears clears;
  clears.kept(kMain, 100);
  clears.ended(kMain, 200);
  clears.cleared(kMain, 210, RegionId(3));
  clears.kept(kMain, 300);
  clears.seen(kMain, 300);
  EXPECT_THAT(clears.settle(true), IsEmpty());
}

TEST(MidwayClearsTest, RegionsOneAfterTheOtherDoNotDisturbEachOther) {
  MidwayClears clears;
  for (std::uint64_t ns = 0; ns < 100'000; ns += 1000) {
    for (const std::uint32_t lane : {kMain, kWorker}) {
      const std::uint64_t begin = ns + lane * 300;
      clears.kept(lane, begin);
      clears.ended(lane, begin + 100);
      clears.cleared(lane, begin + 110, RegionId(lane));
      clears.seen(lane, begin + 110);
    }
    ASSERT_THAT(clears.settle(false), IsEmpty());
  }
  EXPECT_THAT(clears.settle(true), IsEmpty());
}

}  // namespace
}  // namespace castscope::store
