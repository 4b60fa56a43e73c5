#include "server/rules/testing/rules_test.h"

namespace castscope::rules::script_drops_decorator {
namespace {

using ScriptDropsDecoratorTest = RulesTest;

TEST_F(ScriptDropsDecoratorTest, OfAMethod) {
  expect_golden("script_drops_decorator_method", judged([](TestRun& run) {
                  run.seen(run.fact(FactKind::kScriptDropsDecorator, 7,
                                    {.text = "autocast(\"cpu\", dtype=torch.bfloat16)"}, "net.py"),
                           2);
                }));
}

// A method with autocast off, decorated at line 7 of net.py, is cast at line 9 in this region of Python's.
std::string fix_of(const std::vector<Finding>& found) {
  for (const Finding& finding : found)
    if (finding.rule == "script-drops-decorator") return finding.fix;
  ADD_FAILURE() << "it is not found";
  return "";
}
void runs(TestRun& run, const std::string& decorator, std::uint32_t region, std::int64_t line = 9) {
  const auto script = run.stack({TestRun::own_frame("forward", line, "net.py"),
                                 TestRun::torch_frame("nn/modules/module.py", "Module._call_impl"),
                                 TestRun::own_frame("<module>", 99, "net.py")});
  const auto site = run.site({.stack = script,
                              .call_site = run.call_site("aten::mm", 0, "self"),
                              .region = region,
                              .op = "",
                              .role = Role::kInput,
                              .cause = lanes::Cause::kScript,
                              .why = WhyNotCached::kScript,
                              .phase = lanes::Phase::kForward,
                              .from = kFloat32,
                              .to = kBFloat16});
  run.cast(site, kOther).seen(run.fact(FactKind::kScriptDropsDecorator, 7, {.text = decorator}, "net.py"));
}

TEST_F(ScriptDropsDecoratorTest, WhatSwitchesOffIsNeededAroundTheCallToo) {
  const std::string fix = fix_of(
      judged([](TestRun& run) { runs(run, "torch.autocast('cpu', enabled=False)", run.region("train.py", 5)); }));
  EXPECT_NE(fix.find("enabled=False):` within the method"), std::string::npos) << fix;
  EXPECT_NE(fix.find("Call the script in"), std::string::npos) << fix;
}

TEST_F(ScriptDropsDecoratorTest, InARegionOfTheScriptTheMethodAloneIsEnough) {
  const std::string fix = fix_of(judged([](TestRun& run) {
    store::RegionInfo own = TestRun::default_region();
    own.kind = lanes::RegionKind::kScript;
    runs(run, "autocast('cpu', None, False)", run.region("net.py", 12, own));
  }));
  EXPECT_EQ(fix, "Leave the decorator out, and write `with torch.autocast(…, enabled=False):` within the method.");
}

TEST_F(ScriptDropsDecoratorTest, ARegionAroundAnotherMethodIsNotAsked) {
  const std::string fix =
      fix_of(judged([](TestRun& run) { runs(run, "autocast('cpu', enabled=False)", run.region("train.py", 5), 3); }));
  EXPECT_EQ(fix.find("Call the script in"), std::string::npos) << fix;
}

// `enabled` is not `cache_enabled`, whatever its position among the arguments.
TEST_F(ScriptDropsDecoratorTest, WhetherTheDecoratorSwitchesOff) {
  const auto is_off = [&](const char* decorator) {
    return fix_of(judged([&](TestRun& run) {
             runs(run, decorator, run.region("train.py", 5));
           })).find("enabled=False") != std::string::npos;
  };
  for (const char* off : {"torch.autocast('cpu', enabled=False)", "autocast('cpu', None, False)",
                          "torch.cuda.amp.autocast(False)", "torch.cuda.amp.autocast(enabled=False)"})
    EXPECT_TRUE(is_off(off)) << off;
  for (const char* on : {"torch.autocast('cpu', dtype=torch.bfloat16, cache_enabled=False)",
                         "torch.autocast('cpu', torch.bfloat16, True, False)",
                         "torch.cuda.amp.autocast(True, torch.float16, False)", "in_bfloat16"})
    EXPECT_FALSE(is_off(on)) << on;
}

TEST_F(ScriptDropsDecoratorTest, AScriptThatIsRefusedForAnotherReason) {
  for (const Finding& finding : judged([](TestRun& run) {
         run.seen(run.fact(FactKind::kScriptRefused, 7, {.text = "must be a constant"}, "net.py"));
       }))
    EXPECT_NE(finding.rule, "script-drops-decorator");
}

}  // namespace
}  // namespace castscope::rules::script_drops_decorator
