#include "server/rules/testing/script_cast.h"

namespace castscope::rules::trace_drops_disable {
namespace {

using TraceDropsDisableTest = RulesTest;

TEST_F(TraceDropsDisableTest, TheOperatorIsCast) {
  expect_golden("trace_drops_disable_operator_cast", judged([](TestRun& run) {
                  const auto site = script_cast(run, run.region("train.py", 5));
                  const auto fact = run.fact(FactKind::kTraceDropsDisable, 8,
                                             {.subject = site, .text = "/home/user/project/net.py:7"}, "net.py");
                  run.cast(site, kWeight).cast(site, kOther).seen(fact);
                }));
}

TEST_F(TraceDropsDisableTest, NothingWasSeen) {
  expect_none(judged([](TestRun& run) { run.cast(script_cast(run, run.region("train.py", 5)), kWeight); }));
}

// Returns the advice for a trace that is cast in this region.
std::string fix_in(const std::vector<Finding>& found) {
  EXPECT_EQ(found.size(), 1u);
  return found.empty() ? "" : found[0].fix;
}
void cast_in(TestRun& run, std::uint32_t region) {
  const auto site = script_cast(run, region);
  run.cast(site, kWeight).seen(run.fact(FactKind::kTraceDropsDisable, 8, {.subject = site, .text = ""}, "net.py"));
}
std::uint32_t script_region(TestRun& run, std::uint32_t parent) {
  store::RegionInfo own = TestRun::default_region();
  own.kind = lanes::RegionKind::kScript;
  own.parent = parent;
  return run.region("net.py", 20, own);
}

// The trace was saved and loaded, so that its source alone tells of the region.
TEST_F(TraceDropsDisableTest, WhatTheSourceTellsIsSaidToBeFromThere) {
  const auto found = judged([](TestRun& run) {
    const auto site = script_cast(run, run.region("train.py", 5));
    const store::Fact fact = {.subject = site, .detail = 1, .text = ""};
    run.cast(site, kWeight).seen(run.fact(FactKind::kTraceDropsDisable, 8, fact, "net.py"));
  });
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].evidence_text.back(),
            std::pair(std::string("known_from"), std::string("the source, as it is now")));
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
    const auto site = script_cast(run, 0);
    run.cast(site, kWeight).seen(run.fact(FactKind::kTraceDropsDisable, 8, {.subject = site, .text = ""}, "net.py"));
  });
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].title.find("()"), std::string::npos);
}

}  // namespace
}  // namespace castscope::rules::trace_drops_disable
