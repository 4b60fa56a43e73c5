#include "server/rules/testing/autograd_test.h"

namespace castscope::rules::checkpoint_recompute_differs {
namespace {

class CheckpointRecomputeDiffersTest : public AutogradTest {
 protected:
  static constexpr std::uint16_t kWithGraph = lanes::kUseEligible | lanes::kUseGradMode;

  // Adds a use at line 20 of the function that is checkpointed.
  static std::uint32_t forward(TestRun& run, std::uint8_t computed = kBFloat16, bool outside = false) {
    return run.use({.op = "aten::linear",
                    .operands = {operand(kFloat32, Role::kInput), operand(kFloat32, Role::kWeight)},
                    .computed = computed,
                    .flags = lanes::kUseEligible,
                    .outside = outside,
                    .stack = run.stack({TestRun::own_frame("block", 20), TestRun::own_frame("Checkpoint.forward", 6),
                                        TestRun::torch_frame("autograd/function.py", "Function.apply"),
                                        TestRun::own_frame("train", 40)})});
  }
  static std::uint32_t again(TestRun& run, std::uint8_t computed, bool outside, std::uint16_t flags = kWithGraph) {
    return run.use({.op = "aten::linear",
                    .operands = {operand(kFloat32, Role::kInput), operand(kFloat32, Role::kWeight)},
                    .computed = computed,
                    .flags = flags,
                    .phase = Phase::kBackward,
                    .node = "CheckpointBackward",
                    .outside = outside,
                    .stack = in_backward(run, 13, "Checkpoint", {TestRun::own_frame("block", 20)})});
  }
};

TEST_F(CheckpointRecomputeDiffersTest, RecomputedInFloat32) {
  expect_golden("checkpoint_recompute_differs_recomputed_in_float32", judged([](TestRun& run) {
                  const auto region = run.region("train.py", 39);
                  const auto first = forward(run);
                  const auto second = again(run, kFloat32, true);
                  run.enter(region).deep().called(first, 2).exit().called(second, 2).shallow();
                }));
}

TEST_F(CheckpointRecomputeDiffersTest, RegionEnteredAgain) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 39);
    const auto first = forward(run);
    const auto second = again(run, kBFloat16, false);
    run.enter(region).deep().called(first).exit().enter(region).called(second).exit().shallow();
  }));
}

TEST_F(CheckpointRecomputeDiffersTest, RecomputedInAnotherRegion) {
  const auto findings = judged([](TestRun& run) {
    const auto first = forward(run, kFloat32, true);
    const auto region = run.region("train.py", 41);
    const auto second = again(run, kBFloat16, false);
    run.deep().called(first).enter(region).called(second).exit().shallow();
  });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, "checkpoint-recompute-differs");
}

TEST_F(CheckpointRecomputeDiffersTest, BothInFloat32AsOftenAsInForward) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 39);
    const auto low = forward(run), wide = forward(run, kFloat32, true);
    const auto second = again(run, kFloat32, true);
    run.enter(region).deep().called(low).exit().called(wide).called(second).shallow();
  }));
}

TEST_F(CheckpointRecomputeDiffersTest, WhatTheEngineCallsIsNoRecomputation) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 39);
    const auto first = run.use({.op = "aten::mm",
                                .line = 20,
                                .operands = {operand(kFloat32), operand(kFloat32, Role::kWeight)},
                                .computed = kBFloat16,
                                .flags = kWithGraph});
    const auto second = run.use(
        {.op = "aten::mm",
         .operands = {operand(kFloat32, Role::kGradient), operand(kFloat32, Role::kWeight)},
         .flags = kWithGraph,
         .phase = Phase::kBackward,
         .node = "MmBackward0",
         .outside = true,
         .stack = run.stack({TestRun::torch_frame("autograd/graph.py", "_engine_run_backward"),
                             TestRun::torch_frame("_tensor.py", "Tensor.backward"), TestRun::own_frame("train", 20)})});
    run.enter(region).deep().called(first).exit().called(second).shallow();
  }));
}

}  // namespace
}  // namespace castscope::rules::checkpoint_recompute_differs
