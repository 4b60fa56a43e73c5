#include "server/rules/testing/rules_test.h"

namespace castscope::rules {
namespace {

using TraceBakesDtypeTest = RulesTest;

std::uint32_t cast(TestRun& run, std::int64_t line, std::uint32_t region, std::uint8_t to, std::uint8_t flags = 0) {
  return run.site({.stack = run.line("net.py", line),
                   .call_site = run.call_site("aten::mm", 0, "self"),
                   .region = region,
                   .op = "",
                   .role = Role::kInput,
                   .cause = lanes::Cause::kScript,
                   .why = WhyNotCached::kNotAutocast,
                   .phase = lanes::Phase::kForward,
                   .from = kFloat32,
                   .to = to,
                   .flags = flags});
}

store::RegionInfo region_of(std::uint8_t dtype) {
  store::RegionInfo region = TestRun::default_region();
  region.dtype = dtype;
  return region;
}

TEST_F(TraceBakesDtypeTest, S34_RunsOutside) {
  expect_golden("trace_bakes_dtype_runs_outside_region", judged([](TestRun& run) {
                  const auto site = cast(run, 8, 0, kBFloat16, lanes::kSiteBaked);
                  run.cast(site, kWeight).cast(site, kOther);
                }));
}

TEST_F(TraceBakesDtypeTest, S34_RunsInARegionOfAnotherDtype) {
  const auto found = judged([](TestRun& run) {
    run.cast(cast(run, 8, run.region("train.py", 5, region_of(kFloat16)), kBFloat16, lanes::kSiteBaked), kWeight);
  });
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].rule, "trace-bakes-dtype");
}

TEST_F(TraceBakesDtypeTest, S34_RunsInTheSameKindOfRegion) {
  expect_none(judged(
      [](TestRun& run) { run.cast(cast(run, 8, run.region("train.py", 5), kBFloat16, lanes::kSiteBaked), kWeight); }));
}

TEST_F(TraceBakesDtypeTest, S34_ACastOfThePassIsNotBaked) {
  expect_none(judged([](TestRun& run) { run.cast(cast(run, 8, 0, kBFloat16), kWeight); }));
}

}  // namespace
}  // namespace castscope::rules
