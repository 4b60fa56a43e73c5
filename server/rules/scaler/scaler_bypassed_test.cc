#include <gmock/gmock.h>

#include "server/rules/testing/scaler_loop.h"

namespace castscope::rules::scaler_bypassed {
namespace {

using ScalerBypassedTest = RulesTest;

TEST_F(ScalerBypassedTest, TheSecondOptimizerStepsPastTheScaler) {
  expect_golden("scaler_bypassed_second_optimizer", judged([](TestRun& run) {
                  ScalerLoop loop(run);
                  for (int i = 0; i < 2; ++i) {
                    loop.forward_and_backward();
                    run.unscale(loop.unscale).optimizer(loop.step).optimizer(loop.other_step);
                    run.update(loop.update, 65536, 65536);
                  }
                }));
}

TEST_F(ScalerBypassedTest, ClippedBeforeUnscaled) {
  expect_golden("scaler_bypassed_clipped_before_unscaled", judged([](TestRun& run) {
                  ScalerLoop loop(run);
                  loop.forward_and_backward();
                  run.clipped(loop.clip).unscale(loop.unscale).optimizer(loop.step).update(loop.update, 65536, 65536);
                }));
}

TEST_F(ScalerBypassedTest, UnscaledFirst) {
  expect_none(judged([](TestRun& run) {
    ScalerLoop loop(run);
    loop.forward_and_backward();
    run.unscale(loop.unscale).clipped(loop.clip).optimizer(loop.step).update(loop.update, 65536, 65536);
  }));
}

// Nothing unscales before clipping or the step, unless the job does so itself.
TEST_F(ScalerBypassedTest, TheOnlyOptimizerStepsWithScaledGradients) {
  for (const bool by_hand : {false, true}) {
    const auto findings = judged([&](TestRun& run) {
      ScalerLoop loop(run);
      loop.forward_and_backward();
      const auto divide = run.use({.op = "aten::div_.Tensor",
                                   .line = 8,
                                   .operands = {operand(kFloat32, Role::kGradient)},
                                   .flags = lanes::kUseWrites,
                                   .phase = lanes::Phase::kOther,
                                   .outside = true});
      if (by_hand) run.deep().called(divide).shallow();
      run.clipped(loop.clip).optimizer(loop.other_step);
    });
    EXPECT_EQ(findings.size(), by_hand ? 0u : 2u);
  }
}

TEST_F(ScalerBypassedTest, AnotherModelWithoutScaling) {
  expect_none(judged([](TestRun& run) {
    ScalerLoop loop(run);
    for (int i = 0; i < 3; ++i) {
      loop.round();
      run.backward(loop.backward).clipped(loop.clip).optimizer(loop.other_step);
    }
  }));
}

}  // namespace
}  // namespace castscope::rules::scaler_bypassed
