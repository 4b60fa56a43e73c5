#include "server/rules/testing/script_cast.h"

namespace castscope::rules::script_ignores_disable {
namespace {

using ScriptIgnoresDisableTest = RulesTest;

TEST_F(ScriptIgnoresDisableTest, TheOperatorIsCast) {
  expect_golden("script_ignores_disable_operator_cast", judged([](TestRun& run) {
                  const auto site = script_cast(run, run.region("train.py", 5));
                  const auto fact = run.fact(FactKind::kScriptIgnoresDisable, 8,
                                             {.subject = site, .text = "/home/user/project/net.py:7"}, "net.py");
                  run.cast(site, kWeight).cast(site, kOther).seen(fact);
                }));
}

TEST_F(ScriptIgnoresDisableTest, NothingWasSeen) {
  expect_none(judged([](TestRun& run) { run.cast(script_cast(run, run.region("train.py", 5)), kWeight); }));
}

// Eager autocast brings up the operators that it holds in float32, where the script says that they should stay as they
// are.
TEST_F(ScriptIgnoresDisableTest, TheOperatorIsBroughtToFloat32) {
  const auto found = judged([](TestRun& run) {
    const auto site = run.site({.stack = run.line("net.py", 8),
                                .call_site = run.call_site("aten::prod", 0, "self"),
                                .region = run.region("train.py", 5),
                                .op = "",
                                .role = Role::kActivation,
                                .cause = lanes::Cause::kAutocast,
                                .why = WhyNotCached::kNotLeaf,
                                .phase = lanes::Phase::kForward,
                                .from = kBFloat16,
                                .to = kFloat32});
    run.cast(site, kOther).seen(run.fact(FactKind::kScriptIgnoresDisable, 8, {.subject = site, .text = ""}, "net.py"));
  });
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(found[0].title.starts_with("prod is brought to float32 here")) << found[0].title;
}

TEST_F(ScriptIgnoresDisableTest, ARegionWithoutAPlaceIsLeftOut) {
  const auto found = judged([](TestRun& run) {
    const auto site = script_cast(run, 0);
    run.cast(site, kWeight).seen(run.fact(FactKind::kScriptIgnoresDisable, 8, {.subject = site, .text = ""}, "net.py"));
  });
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].title.find("()"), std::string::npos);
}

}  // namespace
}  // namespace castscope::rules::script_ignores_disable
