#include <gmock/gmock.h>

#include "server/rules/testing/rules_test.h"

namespace castscope::rules::cache_stale_weight {
namespace {

using CacheStaleWeightTest = RulesTest;
using lanes::Staleness;

TEST_F(CacheStaleWeightTest, WholeLoopInOneRegion) {
  expect_golden("cache_stale_weight_loop_in_one_region", judged([](TestRun& run) {
                  const auto region = run.region("train.py", 5);
                  const auto weight = run.weight("train.py", 8, "fc");
                  const auto other = run.weight("train.py", 8, "head");
                  const auto stale = run.stale_hit(weight, 8, Staleness::kVersion);
                  const auto also = run.stale_hit(other, 8, Staleness::kVersion);
                  run.enter(region).deep().cast(weight, kWeight, true).cast(other, kOther, true).optimizer();
                  for (int i = 0; i < 4; ++i)
                    run.hit(weight, kWeight).seen(stale).hit(other, kOther).seen(also).optimizer();
                  run.exit();
                }));
}

TEST_F(CacheStaleWeightTest, EachLineThatUsesTheOldCopyIsOne) {
  const auto findings = judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto weight = run.weight("train.py", 8, "fc");
    const auto at_20 = run.stale_hit(weight, 20, Staleness::kVersion);
    const auto at_30 = run.stale_hit(weight, 30, Staleness::kVersion);
    run.enter(region).cast(weight, kWeight, true).seen(at_20).seen(at_30, 2).exit();
  });
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].location->line, 20);
  EXPECT_EQ(findings[1].location->line, 30);
  EXPECT_THAT(findings[1].evidence_number, testing::Contains(testing::Pair("stale_cache_hits", 2)));
  ASSERT_EQ(findings[0].related.size(), 1u);
  EXPECT_EQ(findings[0].related[0].line, 5) << "the region";
}

TEST_F(CacheStaleWeightTest, X01_WhateverChangedIt) {
  for (const Staleness how : {Staleness::kVersion, Staleness::kMoved, Staleness::kUnversioned}) {
    const auto findings = judged([&](TestRun& run) {
      const auto region = run.region("train.py", 5);
      const auto weight = run.weight("train.py", 8, "fc");
      const auto stale = run.stale_hit(weight, 8, how);
      run.enter(region).cast(weight, kWeight, true).hit(weight, kWeight).seen(stale).exit();
    });
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].rule, "cache-stale-weight");
    EXPECT_THAT(findings[0].evidence_text, testing::Contains(testing::Pair("changed_by", testing::Ne(""))));
  }
}

TEST_F(CacheStaleWeightTest, X01_RanksAreOneFinding) {
  const auto findings = judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto weight = run.weight("train.py", 8, "fc");
    const auto stale = run.stale_hit(weight, 8, Staleness::kUnversioned);
    for (std::uint32_t lane = 1; lane <= 2; ++lane)
      run.lane(lane).enter(region).cast(weight, kWeight, true).hit(weight, kWeight).seen(stale).exit();
  });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_THAT(findings[0].evidence_number, testing::Contains(testing::Pair("stale_cache_hits", 2)));
}

TEST_F(CacheStaleWeightTest, WrittenToWithTheValuesThatItHad) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto weight = run.weight("train.py", 8, "fc");
    const auto same = run.stale_hit(weight, 8, Staleness::kSameValues);
    run.enter(region).cast(weight, kWeight, true).hit(weight, kWeight).seen(same).exit();
  }));
}

TEST_F(CacheStaleWeightTest, ARegionPerStep) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto weight = run.weight("train.py", 8, "fc");
    run.stale_hit(weight, 8, Staleness::kVersion);  // defined, and never seen
    for (int i = 0; i < 5; ++i)
      run.step().enter(region).cast(weight, kWeight, true).hit(weight, kWeight).exit().optimizer();
  }));
}

}  // namespace
}  // namespace castscope::rules::cache_stale_weight
