#include "server/rules/testing/script_cast.h"

namespace castscope::rules::trace_bakes_dtype {
namespace {

using TraceBakesDtypeTest = RulesTest;

TEST_F(TraceBakesDtypeTest, RunsOutside) {
  expect_golden("trace_bakes_dtype_runs_outside_region", judged([](TestRun& run) {
                  const auto site = script_cast(run, 0, kBFloat16, lanes::kSiteBaked);
                  run.cast(site, kWeight).cast(site, kOther);
                }));
}

TEST_F(TraceBakesDtypeTest, RunsInARegionOfAnotherDtype) {
  const auto found = judged([](TestRun& run) {
    run.cast(script_cast(run, run.region("train.py", 5, region_of(kFloat16)), kBFloat16, lanes::kSiteBaked), kWeight);
  });
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].rule, "trace-bakes-dtype");
}

TEST_F(TraceBakesDtypeTest, RunsInTheSameKindOfRegion) {
  expect_none(judged([](TestRun& run) {
    run.cast(script_cast(run, run.region("train.py", 5), kBFloat16, lanes::kSiteBaked), kWeight);
  }));
}

TEST_F(TraceBakesDtypeTest, ACastOfThePassIsNotBaked) {
  expect_none(judged([](TestRun& run) { run.cast(script_cast(run, 0), kWeight); }));
}

}  // namespace
}  // namespace castscope::rules::trace_bakes_dtype
