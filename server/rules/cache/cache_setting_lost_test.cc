#include "server/rules/testing/rules_test.h"

namespace castscope::rules::cache_setting_lost {
namespace {

using CacheSettingLostTest = RulesTest;

store::RegionInfo with_cache(bool on, std::uint32_t parent = 0) {
  auto info = TestRun::default_region();
  info.cache_enabled = on;
  info.parent = parent;
  info.nesting = parent == 0 ? 1 : 2;
  return info;
}

TEST_F(CacheSettingLostTest, AContextObjectBuiltEarlier) {
  expect_golden("cache_setting_lost_context_built_earlier", judged([](TestRun& run) {
                  const auto outer = run.region("train.py", 5, with_cache(false));
                  const auto inner = run.region("train.py", 6, with_cache(true, outer));
                  const auto weight = run.weight("train.py", 8, "fc");
                  run.enter(outer).enter(inner).cast(weight, kWeight, true).hit(weight, kWeight).exit().exit();
                }));
}

TEST_F(CacheSettingLostTest, AThreadInsideSuchARegion) {
  const auto findings = judged([](TestRun& run) {
    const auto mains = run.region("train.py", 5, with_cache(false));
    auto info = with_cache(true);
    info.flags = lanes::kRegionCacheOffElsewhere;
    const auto workers = run.region("worker.py", 7, info);
    const auto weight = run.weight("worker.py", 8, "fc");
    run.lane(1).enter(mains).lane(2).enter(workers).cast(weight, kWeight, true).exit().lane(1).exit();
  });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, "cache-setting-lost");
  EXPECT_EQ(findings[0].location->file, "/home/user/project/worker.py");
  EXPECT_EQ(findings[0].location->line, 7);
}

TEST_F(CacheSettingLostTest, AnInnerRegionBuiltInsideInheritsIt) {
  expect_none(judged([](TestRun& run) {
    const auto outer = run.region("train.py", 5, with_cache(false));
    const auto inner = run.region("train.py", 6, with_cache(false, outer));
    const auto weight = run.weight("train.py", 8, "fc", WhyNotCached::kCacheDisabled);
    run.enter(outer).enter(inner).cast(weight, kWeight).exit().exit();
  }));
}

TEST_F(CacheSettingLostTest, SwitchedOffInsideIsNoLoss) {
  expect_none(judged([](TestRun& run) {
    const auto outer = run.region("train.py", 5, with_cache(true));
    const auto kept = run.weight("train.py", 7, "fc");
    const auto inner = run.region("train.py", 6, with_cache(false, outer));
    run.enter(outer).cast(kept, kWeight, true).enter(inner).exit().hit(kept, kWeight).exit();
  }));
}

TEST_F(CacheSettingLostTest, NothingWasKept) {
  expect_none(judged([](TestRun& run) {
    const auto outer = run.region("train.py", 5, with_cache(false));
    const auto inner = run.region("train.py", 6, with_cache(true, outer));
    const auto weight = run.weight("train.py", 8, "fc", WhyNotCached::kNoRequiresGrad);
    run.enter(outer).enter(inner).cast(weight, kWeight).exit().exit();
  }));
}

TEST_F(CacheSettingLostTest, AnIslandOfFloat32AroundIsNoCacheSwitchedOff) {
  expect_none(judged([](TestRun& run) {
    auto off = with_cache(false);
    off.enabled = false;
    const auto island = run.region("train.py", 5, off);
    const auto inner = run.region("train.py", 6, with_cache(true, island));
    const auto weight = run.weight("train.py", 8, "fc");
    run.enter(island).enter(inner).cast(weight, kWeight, true).exit().exit();
  }));
}

}  // namespace
}  // namespace castscope::rules::cache_setting_lost
