#include "server/rules/testing/rules_test.h"

namespace castscope::rules::region_leaks_through_yield {
namespace {

using RegionLeaksThroughYieldTest = RulesTest;

TEST_F(RegionLeaksThroughYieldTest, AnotherCoroutineRunsInIt) {
  expect_golden("region_leaks_through_yield_other_coroutine", judged([](TestRun& run) {
                  const auto region = run.region("serve.py", 5);
                  const auto leak =
                      run.fact(FactKind::kRegionLeaked, 20, {.subject = region, .text = "aten::linear"}, "serve.py");
                  const auto again =
                      run.fact(FactKind::kRegionLeaked, 22, {.subject = region, .text = "aten::mm"}, "serve.py");
                  run.deep().enter(region).exit().seen(leak, 3).seen(again);
                }));
}

TEST_F(RegionLeaksThroughYieldTest, NoAwaitInside) {
  expect_none(judged([](TestRun& run) { run.deep().enter(run.region("serve.py", 5)).exit(); }));
}

// A fact that was defined but never counted was not seen.
TEST_F(RegionLeaksThroughYieldTest, NotSeen) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("serve.py", 5);
    run.fact(FactKind::kRegionLeaked, 20, {.subject = region, .text = "aten::linear"}, "serve.py");
    run.deep().enter(region).exit();
  }));
}

}  // namespace
}  // namespace castscope::rules::region_leaks_through_yield
