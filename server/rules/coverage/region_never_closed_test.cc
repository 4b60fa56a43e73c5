#include "server/rules/rules_test.h"

namespace castscope::rules {
namespace {

using RegionNeverClosedTest = RulesTest;

TEST_F(RegionNeverClosedTest, X06_EnteredTwiceLeftOnce) {
  expect_golden("X-06", judged([](TestRun& run) {
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

// The process ended, or was killed, inside of a `with`: the agent says nothing, and neither does an open region.
TEST_F(RegionNeverClosedTest, OpenAtTheEnd) {
  expect_none(judged([](TestRun& run) { run.enter(run.region("serve.py", 5)); }));
  expect_none(judged([](TestRun& run) { run.enter(run.region("serve.py", 5)); }, /*ends=*/false));
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
}  // namespace castscope::rules
