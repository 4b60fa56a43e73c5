#include "server/rules/testing/script_cast.h"

namespace castscope::rules::script_keeps_first_dtype {
namespace {

using ScriptKeepsFirstDtypeTest = RulesTest;

TEST_F(ScriptKeepsFirstDtypeTest, X08_AnotherRegion) {
  expect_golden("script_keeps_first_dtype_other_region", judged([](TestRun& run) {
                  const auto first = script_cast(run, run.region("train.py", 5));
                  const auto second = script_cast(run, run.region("train.py", 6, region_of(kFloat16)));
                  run.cast(first, kWeight).cast(second, kWeight).cast(second, kOther);
                }));
}

TEST_F(ScriptKeepsFirstDtypeTest, X08_TheSameDtype) {
  expect_none(judged([](TestRun& run) {
    run.cast(script_cast(run, run.region("train.py", 5)), kWeight);
    run.cast(script_cast(run, run.region("train.py", 6)), kWeight);
  }));
}

TEST_F(ScriptKeepsFirstDtypeTest, X08_ARegionOfTheScriptsOwn) {
  expect_none(judged([](TestRun& run) {
    store::RegionInfo own = region_of(kFloat16);
    own.kind = lanes::RegionKind::kScript;
    own.parent = run.region("train.py", 5);
    run.cast(script_cast(run, run.region("net.py", 7, own), kFloat16), kWeight);
  }));
}

TEST_F(ScriptKeepsFirstDtypeTest, X08_OutsideOfRegions) {
  expect_none(judged([](TestRun& run) { run.cast(script_cast(run, 0), kWeight); }));
}

// The same function or module, scripted again, is the same script.
TEST_F(ScriptKeepsFirstDtypeTest, ToScriptItAgainIsNotAdvised) {
  const auto found =
      judged([](TestRun& run) { run.cast(script_cast(run, run.region("train.py", 6, region_of(kFloat16))), kWeight); });
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].fix.find("Script (or load)"), std::string::npos) << found[0].fix;
  EXPECT_NE(found[0].fix.find("load it once for each dtype"), std::string::npos) << found[0].fix;
}

}  // namespace
}  // namespace castscope::rules::script_keeps_first_dtype
