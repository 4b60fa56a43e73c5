#include "server/rules/testing/rules_test.h"

namespace castscope::rules {
namespace {

using ScriptRecastsWeightsTest = RulesTest;

std::uint32_t weight(TestRun& run, std::int64_t line, lanes::Cause cause) {
  return run.site({.stack = run.line("net.py", line),
                   .call_site = run.call_site("aten::linear", 1, "weight"),
                   .region = run.region("train.py", 5),
                   .op = "",
                   .role = Role::kWeight,
                   .cause = cause,
                   .why = WhyNotCached::kNotAutocast,
                   .phase = lanes::Phase::kForward,
                   .from = kFloat32,
                   .to = kBFloat16});
}

TEST_F(ScriptRecastsWeightsTest, X10_TwiceInARegion) {
  expect_golden("script_recasts_weights_twice_in_region", judged([](TestRun& run) {
                  const auto site = weight(run, 8, lanes::Cause::kScript);
                  run.enter(1).cast_data(site, kWeight).cast_data(site, kWeight).exit();
                }));
}

TEST_F(ScriptRecastsWeightsTest, X10_OnceInEachRegion) {
  expect_none(judged([](TestRun& run) {
    const auto site = weight(run, 8, lanes::Cause::kScript);
    for (int i = 0; i < 3; ++i) run.enter(1).cast_data(site, kWeight).exit();
  }));
}

TEST_F(ScriptRecastsWeightsTest, X10_TwoWeightsOfALoop) {
  expect_none(judged([](TestRun& run) {
    const auto site = weight(run, 8, lanes::Cause::kScript);
    run.enter(1).cast_data(site, kWeight).cast_data(site, kOther).exit();
  }));
}

// The weight costs most, though the bias comes first in the alphabet.
TEST_F(ScriptRecastsWeightsTest, TheOneThatCostsMostIsNamed) {
  const auto found = judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto argument = [&](std::uint32_t position, const char* name) {
      return run.site({.stack = run.line("net.py", 8),
                       .call_site = run.call_site("aten::linear", position, name),
                       .region = region,
                       .op = "",
                       .role = Role::kWeight,
                       .cause = lanes::Cause::kScript,
                       .why = WhyNotCached::kScript,
                       .phase = lanes::Phase::kForward,
                       .from = kFloat32,
                       .to = kBFloat16});
    };
    const auto large = argument(1, "weight"), small = argument(2, "bias");
    run.enter(region);
    for (int i = 0; i < 3; ++i) run.cast(large, kWeight, false, 100'000, 400).cast(small, kOther, false, 500, 900);
    run.exit();
  });
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(found[0].title.starts_with("weight of linear and 1 other are cast again")) << found[0].title;
}

}  // namespace
}  // namespace castscope::rules
