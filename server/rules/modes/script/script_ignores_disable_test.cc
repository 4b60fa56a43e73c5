#include "server/rules/testing/rules_test.h"

namespace castscope::rules {
namespace {

using ScriptIgnoresDisableTest = RulesTest;

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

TEST_F(ScriptIgnoresDisableTest, S24_TheOperatorIsCast) {
  expect_golden("script_ignores_disable_operator_cast", judged([](TestRun& run) {
                  const auto site = cast(run, 8, run.region("train.py", 5), kBFloat16);
                  const auto fact = run.fact(FactKind::kScriptIgnoresDisable, 8,
                                             {.subject = site, .text = "/home/user/project/net.py:7"}, "net.py");
                  run.cast(site, kWeight).cast(site, kOther).seen(fact);
                }));
}

TEST_F(ScriptIgnoresDisableTest, S24_NothingWasSeen) {
  expect_none(judged([](TestRun& run) { run.cast(cast(run, 8, run.region("train.py", 5), kBFloat16), kWeight); }));
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
    const auto site = cast(run, 8, 0, kBFloat16);
    run.cast(site, kWeight).seen(run.fact(FactKind::kScriptIgnoresDisable, 8, {.subject = site, .text = ""}, "net.py"));
  });
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].title.find("()"), std::string::npos);
}

}  // namespace
}  // namespace castscope::rules
