#include "server/rules/testing/rules_test.h"

namespace castscope::rules::cache_never_cleared {
namespace {

using CacheNeverClearedTest = RulesTest;

TEST_F(CacheNeverClearedTest, ThreadsThatSwitchAutocastOnByTheRawSetter) {
  expect_golden("cache_never_cleared_raw_setter_in_threads", judged([](TestRun& run) {
                  run.region("worker.py", 5, TestRun::raw_region());
                  const auto weight = run.weight("worker.py", 8, "fc");
                  for (std::uint32_t lane = 2; lane <= 5; ++lane) run.lane(lane).cast(weight, kWeight + lane, true);
                }));
}

TEST_F(CacheNeverClearedTest, AnotherThreadsClearComesTooLate) {
  const auto findings = judged([](TestRun& run) {
    run.region("worker.py", 5, TestRun::raw_region());
    const auto weight = run.weight("worker.py", 8, "fc");
    for (std::uint32_t lane = 2; lane <= 5; ++lane) run.lane(lane).cast(weight, kWeight + lane, true);
    run.lane(1).clear();
  });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, "cache-never-cleared");
}

TEST_F(CacheNeverClearedTest, ThreadsWithTheContextManager) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("worker.py", 5);
    const auto weight = run.weight("worker.py", 8, "fc");
    for (std::uint32_t lane = 2; lane <= 5; ++lane) {
      run.lane(lane).enter(region).cast(weight, kWeight + lane, true).exit();
    }
  }));
}

TEST_F(CacheNeverClearedTest, RawSwitchWithoutAClear) {
  const auto findings = judged([](TestRun& run) {
    run.region("train.py", 5, TestRun::raw_region());
    const auto weight = run.weight("train.py", 8, "fc");
    run.cast(weight, kWeight, true).hit(weight, kWeight).hit(weight, kWeight);
  });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].location->line, 5);
}

TEST_F(CacheNeverClearedTest, ManualClearAfterEachStep) {
  expect_none(judged([](TestRun& run) {
    run.region("train.py", 5, TestRun::raw_region());
    const auto weight = run.weight("train.py", 8, "fc");
    for (int i = 0; i < 5; ++i) run.step().cast(weight, kWeight, true).hit(weight, kWeight).clear();
  }));
}

TEST_F(CacheNeverClearedTest, NothingIsSaidBeforeAClearIsDue) {
  expect_none(judged(
      [](TestRun& run) {
        run.region("train.py", 5, TestRun::raw_region());
        run.step().cast(run.weight("train.py", 8, "fc"), kWeight, true);
      },
      /*ends=*/false));
}

}  // namespace
}  // namespace castscope::rules::cache_never_cleared
