#include <gmock/gmock.h>

#include "server/rules/testing/rules_test.h"

namespace castscope::rules::region_never_closed {
namespace {

using RegionNeverClosedTest = RulesTest;

TEST_F(RegionNeverClosedTest, X06_EnteredTwiceLeftOnce) {
  expect_golden("region_never_closed_entered_twice_left_once", judged([](TestRun& run) {
                  const auto first = run.region("train.py", 5);
                  auto info = TestRun::default_region();
                  info.parent = first;
                  info.nesting = 2;
                  const auto second = run.region("train.py", 6, info);
                  run.enter(first).enter(second).exit();
                  run.seen(run.fact(FactKind::kRegionNeverLeft, 5, {.subject = first, .text = ""}));
                }));
}

TEST_F(RegionNeverClosedTest, X06_BalancedNesting) {
  expect_none(judged([](TestRun& run) {
    const auto first = run.region("train.py", 5);
    run.enter(first).enter(first).exit().exit();
  }));
}

// The process ended, or was killed, inside of a `with`: the agent reports nothing, and an open region alone is no
// finding.
TEST_F(RegionNeverClosedTest, OpenAtTheEnd) {
  expect_none(judged([](TestRun& run) { run.enter(run.region("serve.py", 5)); }));
  expect_none(judged([](TestRun& run) { run.enter(run.region("serve.py", 5)); }, /*ends=*/false));
}

// The region's object was entered again within it: autocast stays on for the code after it, which is in a region that
// nobody opened. The rules about regions say nothing of that one.
TEST_F(RegionNeverClosedTest, EnteredAgain) {
  const auto findings = judged([](TestRun& run) {
    auto info = TestRun::default_region();
    const auto outer = run.region("train.py", 5, info);
    info.parent = outer;
    info.nesting = 2;
    const auto inner = run.region("train.py", 7, info);
    info = TestRun::default_region();
    info.kind = lanes::RegionKind::kRaw;
    info.nesting = 0;
    const auto after = run.region("train.py", 5, info);
    const auto weight = run.site({.stack = run.line("train.py", 9), .region = after, .op = "aten::linear"});
    run.enter(outer).enter(inner).exit().exit();
    run.seen(run.fact(FactKind::kRegionNeverLeft, 5, {.subject = outer, .detail = 1, .text = ""}));
    run.cast(weight, kWeight, true).backward(run.fact(FactKind::kBackward, 10, {.subject = after, .text = ""}));
  });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, "region-never-closed");
  EXPECT_THAT(findings[0].title, testing::StartsWith("autocast stays on after the region"));
}

TEST_F(RegionNeverClosedTest, OneThatIsOffIsEnteredAgain) {
  const auto findings = judged([](TestRun& run) {
    auto info = TestRun::default_region();
    info.enabled = false;
    const auto region = run.region("train.py", 5, info);
    run.enter(region).exit();
    run.seen(run.fact(FactKind::kRegionNeverLeft, 5, {.subject = region, .detail = 1, .text = ""}));
  });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_THAT(findings[0].title, testing::StartsWith("autocast stays off after the region"));
}

TEST_F(RegionNeverClosedTest, OneThatIsOffDoesNothing) {
  expect_none(judged([](TestRun& run) {
    auto info = TestRun::default_region();
    info.enabled = false;
    const auto region = run.region("train.py", 5, info);
    run.enter(region).seen(run.fact(FactKind::kRegionNeverLeft, 5, {.subject = region, .text = ""}));
  }));
}

}  // namespace
}  // namespace castscope::rules::region_never_closed
