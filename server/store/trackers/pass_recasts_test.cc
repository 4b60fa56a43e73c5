#include "server/store/trackers/pass_recasts.h"

#include <gtest/gtest.h>

namespace castscope::store {
namespace {

constexpr std::uint32_t kPassLane = 1, kPassSite = 7;
constexpr std::uint64_t kPassWeight = 0x1000;

// Casts the weight in each of these stays, the first of which has this number, and calls backward so often.
void run_pass(PassRecasts& recasts, std::uint32_t first, std::uint32_t stays, int backwards = 1) {
  for (std::uint32_t stay = first; stay < first + stays; ++stay)
    recasts.kept(kPassLane, kPassSite, kPassWeight, stay, 0);
  for (int i = 0; i < backwards; ++i) recasts.backward(kPassLane);
}

std::uint32_t casts_of(const std::vector<PassRecasts::Recast>& all) {
  std::uint32_t casts = 0;
  for (const PassRecasts::Recast& one : all) casts += one.casts;
  return casts;
}

TEST(PassRecastsTest, EachStayOfAPassButTheFirstCastsAgain) {
  PassRecasts recasts;
  run_pass(recasts, 1, 12);
  run_pass(recasts, 20, 12);
  const auto ended = recasts.take(true);
  EXPECT_EQ(ended.size(), 2u) << "an entry for each pass";
  EXPECT_EQ(casts_of(ended), 22u);
}

// More calls of backward may follow: only the next cast tells that the pass has ended.
TEST(PassRecastsTest, APassIsToldWhenItHasEnded) {
  PassRecasts recasts;
  run_pass(recasts, 1, 2);
  EXPECT_TRUE(recasts.take(false).empty());
  run_pass(recasts, 10, 1, 0);
  EXPECT_EQ(casts_of(recasts.take(false)), 1u);
}

TEST(PassRecastsTest, AsManyBackwardsAsStays) {
  PassRecasts recasts;
  run_pass(recasts, 1, 2, 2);
  const auto ended = recasts.take(true);
  ASSERT_EQ(ended.size(), 1u) << "it counts among the passes";
  EXPECT_EQ(ended[0].casts, 0u);
}

TEST(PassRecastsTest, WhatIsMissingMakesNothingAgain) {
  PassRecasts recasts;
  run_pass(recasts, 1, 1, 0);
  recasts.forget(kPassLane);
  run_pass(recasts, 2, 1);
  EXPECT_EQ(casts_of(recasts.take(true)), 0u);
}

TEST(PassRecastsTest, AnotherThreadsPassIsAnother) {
  PassRecasts recasts;
  recasts.kept(1, kPassSite, kPassWeight, 1, 0);
  recasts.kept(2, kPassSite, kPassWeight, 2, 0);
  recasts.backward(2);
  EXPECT_EQ(casts_of(recasts.take(true)), 0u);
}

}  // namespace
}  // namespace castscope::store
