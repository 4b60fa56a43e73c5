#include <gmock/gmock.h>

#include "server/rules/testing/rules_test.h"

namespace castscope::rules::region_redundant {
namespace {

using RegionRedundantTest = RulesTest;

std::uint32_t linear(TestRun& run, std::uint8_t dtype, Role of_second = Role::kWeight) {
  return run.use({.op = "aten::linear",
                  .line = 8,
                  .operands = {operand(dtype, Role::kInput), operand(dtype, of_second)},
                  .flags = lanes::kUseEligible});
}

TEST_F(RegionRedundantTest, ALowPrecisionModelInARegionOfItsDtype) {
  expect_golden("region_redundant_bfloat16_model", judged([](TestRun& run) {
                  const auto region = run.region("train.py", 5);
                  const auto pass = run.pass_through("aten::linear");
                  const auto use = linear(run, kBFloat16);
                  for (int i = 0; i < 4; ++i) run.step().enter(region).deep().pass(pass, 3).called(use).exit();
                }));
}

TEST_F(RegionRedundantTest, WeightsThatAnOptimizerUpdatesInLowPrecision) {
  const auto updated = [&](std::uint8_t dtype, Role role) {
    const auto findings = judged([&](TestRun& run) {
      const auto region = run.region("train.py", 5);
      const auto pass = run.pass_through("aten::linear"), use = linear(run, kBFloat16);
      const auto update = run.use({.op = "aten::add_.Tensor",
                                   .line = 12,
                                   .operands = {operand(dtype, role), operand(dtype)},
                                   .flags = lanes::kUseWrites});
      run.enter(region).deep().pass(pass, 3).called(use).exit().called(update);
    });
    return findings.size() == 1 ? findings[0].severity : "";
  };
  EXPECT_EQ(updated(kBFloat16, Role::kWeight), "warning");
  EXPECT_EQ(updated(kBFloat16, Role::kBuffer), "info");
  EXPECT_EQ(updated(kFloat32, Role::kWeight), "info");
}

TEST_F(RegionRedundantTest, TrainingAndEvaluationHaveOneCause) {
  const auto found = [&](bool trains) {
    return judged([&](TestRun& run) {
      for (const std::int64_t line : {5, 15}) {
        const auto region = run.region("train.py", line);
        const auto pass = run.pass_through("aten::linear"), use = linear(run, kBFloat16);
        run.enter(region).deep().pass(pass, 3).called(use).exit();
      }
      const auto update = run.use({.op = "aten::add_.Tensor",
                                   .line = 12,
                                   .operands = {operand(kBFloat16, Role::kWeight)},
                                   .flags = lanes::kUseWrites});
      if (trains) run.called(update);
    });
  };
  const auto one = found(true);
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].location->line, 5);
  EXPECT_EQ(found(false).size(), 2u);
}

TEST_F(RegionRedundantTest, OneFloat32WeightIsLeft) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto pass = run.pass_through("aten::linear"), weight = run.weight("train.py", 9, "head");
    const auto use = linear(run, kBFloat16);
    run.enter(region).deep().pass(pass, 3).called(use).cast(weight, kWeight, true).exit();
  }));
}

TEST_F(RegionRedundantTest, DoublesAreNotCastEither) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto pass = run.pass_through("aten::linear"), use = linear(run, store::kFloat64);
    run.enter(region).deep().pass(pass, 3).called(use).exit();
  }));
}

TEST_F(RegionRedundantTest, ProductsOfActivationsAreNoModel) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto pass = run.pass_through("aten::linear"), use = linear(run, kBFloat16, Role::kActivation);
    run.enter(region).deep().pass(pass, 3).called(use).exit();
  }));
}

}  // namespace
}  // namespace castscope::rules::region_redundant
