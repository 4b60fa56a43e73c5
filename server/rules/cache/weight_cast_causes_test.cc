// What weight-cast-repeatedly takes for one cause, and whom its fix addresses.
#include <gmock/gmock.h>

#include "server/rules/testing/rules_test.h"

namespace castscope::rules::weight_cast_repeatedly {
namespace {

using WeightCastCausesTest = RulesTest;

// Inference mode is around the whole region; frozen weights are each frozen on their own (FrozenWeightsAtTwoLines).
TEST_F(WeightCastCausesTest, InferenceModeIsOneCauseForAllLinesOfARegion) {
  const auto in_regions_at = [](std::int64_t one, std::int64_t other) {
    return [one, other](TestRun& run) {
      std::int64_t line = 8;
      for (const std::int64_t at : {one, other}) {
        const auto region = run.region("generate.py", at);
        for (const char* name : {"up", "down"}) {
          const auto weight = run.weight("generate.py", line++, name, WhyNotCached::kInferenceMode);
          run.enter(region).cast(weight, kWeight + line).cast(weight, kWeight + line).exit();
        }
      }
    };
  };
  const auto same = judged(in_regions_at(5, 5));
  ASSERT_EQ(same.size(), 1u);
  EXPECT_EQ(same[0].related.size(), 3u);
  const auto two = judged(in_regions_at(5, 6));
  ASSERT_EQ(two.size(), 2u);
  EXPECT_EQ(two[0].title, "down.weight and 1 other weight are cast again at each use (inference mode is on)");
  EXPECT_EQ(two[1].related.size(), 1u);
}

// The attention module takes its weight apart itself: nobody can pass the parameter there.
TEST_F(WeightCastCausesTest, ViewsThatPyTorchMakesAreNotTheCallersToMend) {
  const auto through = [](const char* file) {
    return [file](TestRun& run) {
      const auto region = run.region("train.py", 5);
      const auto weight = run.site(
          {.stack = run.stack({TestRun::torch_frame(file, "forward"), TestRun::own_frame("decode", 7, "train.py")}),
           .module = run.module("attention", "MultiheadAttention"),
           .call_site = run.call_site("aten::linear", 1, "weight"),
           .region = region,
           .op = "",
           .role = Role::kWeight,
           .cause = lanes::Cause::kAutocast,
           .why = WhyNotCached::kView,
           .phase = lanes::Phase::kForward,
           .from = kFloat32,
           .to = kBFloat16});
      run.enter(region).cast_data(weight, kWeight).cast_data(weight, kWeight).exit();
    };
  };
  const auto by_torch = judged(through("nn/functional.py")), by_the_caller = judged(through("nn/modules/linear.py"));
  ASSERT_EQ(by_torch.size(), 1u);
  EXPECT_THAT(by_torch[0].fix, testing::StartsWith("For inference, convert the model once"));
  ASSERT_EQ(by_the_caller.size(), 1u);
  EXPECT_THAT(by_the_caller[0].fix, testing::StartsWith("Pass the parameter itself"));
}

}  // namespace
}  // namespace castscope::rules::weight_cast_repeatedly
