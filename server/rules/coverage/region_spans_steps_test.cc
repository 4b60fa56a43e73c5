#include "server/rules/rules_test.h"

namespace castscope::rules {
namespace {

using RegionSpansStepsTest = RulesTest;

TEST_F(RegionSpansStepsTest, S07_LoopInsideARegion) {
  expect_golden("S-07", judged([](TestRun& run) {
                  const auto region = run.region("train.py", 5);
                  const auto weight = run.weight("train.py", 10, "fc");
                  const auto backward = run.fact(FactKind::kBackward, 12, {.subject = region, .text = ""});
                  run.enter(region).cast(weight, kWeight, true).backward(backward).optimizer();
                  for (int i = 0; i < 4; ++i) run.hit(weight, kWeight).backward(backward).optimizer();
                  run.exit();
                }));
}

TEST_F(RegionSpansStepsTest, C03_ARegionPerStep) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto weight = run.weight("train.py", 10, "fc");
    for (int i = 0; i < 5; ++i) run.enter(region).cast(weight, kWeight, true).exit().optimizer();
  }));
}

TEST_F(RegionSpansStepsTest, S07_ManyForwardPassesInOneRegion) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto weight = run.weight("train.py", 10, "fc");
    run.enter(region).cast(weight, kWeight, true);
    for (int i = 0; i < 9; ++i) run.hit(weight, kWeight);
    run.exit().optimizer();
  }));
}

// Two optimizers with parameters of their own take one training step.
TEST_F(RegionSpansStepsTest, SeveralOptimizersInARow) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto weight = run.weight("train.py", 10, "fc");
    for (int i = 0; i < 3; ++i) run.enter(region).cast(weight, kWeight, true).optimizer().optimizer().exit();
  }));
}

TEST_F(RegionSpansStepsTest, C03_WithoutACacheNothingIsOld) {
  expect_none(judged([](TestRun& run) {
    auto info = TestRun::default_region();
    info.cache_enabled = false;
    const auto region = run.region("train.py", 5, info);
    const auto input = run.input("train.py", 10, "fc");
    run.enter(region);
    for (int i = 0; i < 5; ++i) run.cast(input, kOther + i).optimizer();
    run.exit();
  }));
}

TEST_F(RegionSpansStepsTest, ADisabledRegion) {
  expect_none(judged([](TestRun& run) {
    auto info = TestRun::default_region();
    info.enabled = false;
    run.enter(run.region("train.py", 5, info));
    const auto backward = run.fact(FactKind::kBackward, 12);
    for (int i = 0; i < 5; ++i) run.backward(backward).optimizer();
    run.exit();
  }));
}

TEST_F(RegionSpansStepsTest, TheOutermostOneIsTold) {
  const auto findings = judged([](TestRun& run) {
    const auto outer = run.region("train.py", 5);
    auto info = TestRun::default_region();
    info.parent = outer;
    info.nesting = 2;
    const auto inner = run.region("train.py", 6, info);
    const auto weight = run.weight("train.py", 10, "fc");
    run.enter(outer).enter(inner).cast(weight, kWeight, true).optimizer();
    run.hit(weight, kWeight).optimizer().exit().exit();
  });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].location->line, 5);
}

}  // namespace
}  // namespace castscope::rules
