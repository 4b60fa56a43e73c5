#include "server/rules/testing/rules_test.h"

namespace castscope::rules {
namespace {

using ScriptKeepsFirstDtypeTest = RulesTest;

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

TEST_F(ScriptKeepsFirstDtypeTest, X08_AnotherRegion) {
  expect_golden("script_keeps_first_dtype_other_region", judged([](TestRun& run) {
                  const auto first = cast(run, 8, run.region("train.py", 5), kBFloat16);
                  const auto second = cast(run, 8, run.region("train.py", 6, region_of(kFloat16)), kBFloat16);
                  run.cast(first, kWeight).cast(second, kWeight).cast(second, kOther);
                }));
}

TEST_F(ScriptKeepsFirstDtypeTest, X08_TheSameDtype) {
  expect_none(judged([](TestRun& run) {
    run.cast(cast(run, 8, run.region("train.py", 5), kBFloat16), kWeight);
    run.cast(cast(run, 8, run.region("train.py", 6), kBFloat16), kWeight);
  }));
}

TEST_F(ScriptKeepsFirstDtypeTest, X08_ARegionOfTheScriptsOwn) {
  expect_none(judged([](TestRun& run) {
    store::RegionInfo own = region_of(kFloat16);
    own.kind = lanes::RegionKind::kScript;
    own.parent = run.region("train.py", 5);
    run.cast(cast(run, 8, run.region("net.py", 7, own), kFloat16), kWeight);
  }));
}

TEST_F(ScriptKeepsFirstDtypeTest, X08_OutsideOfRegions) {
  expect_none(judged([](TestRun& run) { run.cast(cast(run, 8, 0, kBFloat16), kWeight); }));
}

// The same function or module, scripted again, is the same script.
TEST_F(ScriptKeepsFirstDtypeTest, ToScriptItAgainIsNotAdvised) {
  const auto found = judged(
      [](TestRun& run) { run.cast(cast(run, 8, run.region("train.py", 6, region_of(kFloat16)), kBFloat16), kWeight); });
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].fix.find("Script (or load)"), std::string::npos) << found[0].fix;
  EXPECT_NE(found[0].fix.find("load it once for each dtype"), std::string::npos) << found[0].fix;
}

}  // namespace
}  // namespace castscope::rules
