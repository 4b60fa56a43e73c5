#include "server/rules/testing/rules_test.h"

namespace castscope::rules {
namespace {

using TraceDropsDisableTest = RulesTest;

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

TEST_F(TraceDropsDisableTest, S32_TheOperatorIsCast) {
  expect_golden("trace_drops_disable_operator_cast", judged([](TestRun& run) {
                  const auto site = cast(run, 8, run.region("train.py", 5), kBFloat16);
                  const auto fact = run.fact(FactKind::kTraceDropsDisable, 8,
                                             {.subject = site, .text = "/home/user/project/net.py:7"}, "net.py");
                  run.cast(site, kWeight).cast(site, kOther).seen(fact);
                }));
}

TEST_F(TraceDropsDisableTest, S32_NothingWasSeen) {
  expect_none(judged([](TestRun& run) { run.cast(cast(run, 8, run.region("train.py", 5), kBFloat16), kWeight); }));
}

// Returns the advice for a trace that is cast in this region.
std::string fix_in(const std::vector<Finding>& found) {
  EXPECT_EQ(found.size(), 1u);
  return found.empty() ? "" : found[0].fix;
}
void cast_in(TestRun& run, std::uint32_t region) {
  const auto site = cast(run, 8, region, kBFloat16);
  run.cast(site, kWeight).seen(run.fact(FactKind::kTraceDropsDisable, 8, {.subject = site, .text = ""}, "net.py"));
}
std::uint32_t script_region(TestRun& run, std::uint32_t parent) {
  store::RegionInfo own = TestRun::default_region();
  own.kind = lanes::RegionKind::kScript;
  own.parent = parent;
  return run.region("net.py", 20, own);
}

TEST_F(TraceDropsDisableTest, ARegionOfPythonsIsSwitchedOffByPython) {
  const std::string fix = fix_in(judged([](TestRun& run) { cast_in(run, run.region("train.py", 5)); }));
  EXPECT_TRUE(fix.starts_with("Call the trace in `with torch.autocast(\"cpu\", enabled=False):`.")) << fix;
}

TEST_F(TraceDropsDisableTest, ARegionOfAScriptIsSwitchedOffByAScript) {
  const std::string fix = fix_in(judged([](TestRun& run) { cast_in(run, script_region(run, 0)); }));
  EXPECT_TRUE(fix.starts_with("Script this function")) << fix;
  EXPECT_EQ(fix.find("Python"), std::string::npos) << fix;
}

TEST_F(TraceDropsDisableTest, InRegionsOfBothBothAreNeeded) {
  const std::string fix =
      fix_in(judged([](TestRun& run) { cast_in(run, script_region(run, run.region("train.py", 5))); }));
  EXPECT_TRUE(fix.starts_with("Script this function")) << fix;
  EXPECT_NE(fix.find("`with torch.autocast(\"cpu\", enabled=False):`"), std::string::npos) << fix;
}

TEST_F(TraceDropsDisableTest, ARegionWithoutAPlaceIsLeftOut) {
  const auto found = judged([](TestRun& run) {
    const auto site = cast(run, 8, 0, kBFloat16);
    run.cast(site, kWeight).seen(run.fact(FactKind::kTraceDropsDisable, 8, {.subject = site, .text = ""}, "net.py"));
  });
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].title.find("()"), std::string::npos);
}

}  // namespace
}  // namespace castscope::rules
