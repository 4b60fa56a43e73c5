#include "server/rules/testing/rules_test.h"

namespace castscope::rules::script_recasts_weights {
namespace {

using ScriptRecastsWeightsTest = RulesTest;

std::uint32_t weight(TestRun& run, lanes::Cause cause, std::uint32_t position = 1, const char* name = "weight") {
  return run.site({.stack = run.line("net.py", 8),
                   .call_site = run.call_site("aten::linear", position, name),
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
                  const auto site = weight(run, lanes::Cause::kScript);
                  run.enter(1).cast_data(site, kWeight).cast_data(site, kWeight).exit();
                }));
}

TEST_F(ScriptRecastsWeightsTest, X10_OnceInEachRegion) {
  expect_none(judged([](TestRun& run) {
    const auto site = weight(run, lanes::Cause::kScript);
    for (int i = 0; i < 3; ++i) run.enter(1).cast_data(site, kWeight).exit();
  }));
}

TEST_F(ScriptRecastsWeightsTest, X10_TwoWeightsOfALoop) {
  expect_none(judged([](TestRun& run) {
    const auto site = weight(run, lanes::Cause::kScript);
    run.enter(1).cast_data(site, kWeight).cast_data(site, kOther).exit();
  }));
}

// The weight costs most, though the bias comes first in the alphabet.
TEST_F(ScriptRecastsWeightsTest, TheOneThatCostsMostIsNamed) {
  const auto found = judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto large = weight(run, lanes::Cause::kScript), small = weight(run, lanes::Cause::kScript, 2, "bias");
    run.enter(region);
    for (int i = 0; i < 3; ++i) run.cast(large, kWeight, false, 100'000, 400).cast(small, kOther, false, 500, 900);
    run.exit();
  });
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(found[0].title.starts_with("weight of linear and 1 other are cast again")) << found[0].title;
}

}  // namespace
}  // namespace castscope::rules::script_recasts_weights
