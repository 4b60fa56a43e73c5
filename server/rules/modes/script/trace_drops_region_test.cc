#include "server/rules/testing/rules_test.h"

namespace castscope::rules::trace_drops_region {
namespace {

using TraceDropsRegionTest = RulesTest;

TEST_F(TraceDropsRegionTest, AScriptIsCalledInARegion) {
  expect_golden("trace_drops_region_script_called_in_region", judged([](TestRun& run) {
                  run.seen(run.fact(FactKind::kTraceDropsRegion, 12, {.text = "/home/user/project/net.py:7"}), 2);
                }));
}

TEST_F(TraceDropsRegionTest, NothingWasSeen) {
  expect_none(judged([](TestRun& run) { run.seen(run.fact(FactKind::kBackward, 12, {.text = ""})); }));
}

}  // namespace
}  // namespace castscope::rules::trace_drops_region
