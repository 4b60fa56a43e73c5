#include "server/rules/testing/autograd_test.h"

namespace castscope::rules::autograd_fn_undecorated {
namespace {

using AutogradFnUndecoratedTest = AutogradTest;

TEST_F(AutogradFnUndecoratedTest, BackwardInFloat32) {
  expect_golden("autograd_fn_undecorated_backward_in_float32", judged([](TestRun& run) {
                  const auto region = run.region("train.py", 39);
                  const auto forward = forward_product(run);
                  const auto first = backward_product(run, 12, {});
                  const auto second = backward_product(run, 13, {});
                  run.enter(region).deep().called(forward, 3).exit().called(first, 3).called(second, 3).shallow();
                }));
}

// As from PyTorch 2.15 on, whose Function.apply has no frame.
TEST_F(AutogradFnUndecoratedTest, AForwardBelowNothingButTheCaller) {
  const auto findings = judged([](TestRun& run) {
    const auto region = run.region("train.py", 39);
    const auto product = [&](const std::string& owner) {
      return run.use(
          {.op = "aten::matmul",
           .operands = {operand(kFloat32, Role::kInput), operand(kFloat32, Role::kWeight)},
           .computed = kBFloat16,
           .flags = kEligible,
           .stack = run.stack({TestRun::own_frame(owner + ".forward", 6), TestRun::own_frame("train", 40)})});
    };
    const auto forward = product("Product"), of_another_class = product("Layer");
    const auto backward = backward_product(run, 12, {});
    run.enter(region).deep().called(forward).called(of_another_class).exit().called(backward).shallow();
  });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, "autograd-fn-undecorated");
  EXPECT_EQ(findings[0].related.size(), 1u);
}

TEST_F(AutogradFnUndecoratedTest, Decorated) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 39);
    const auto forward = forward_product(run);
    const auto backward = backward_product(run, 12, {.computed = kBFloat16, .outside = false});
    run.enter(region).deep().called(forward).exit().called(backward).shallow();
  }));
}

TEST_F(AutogradFnUndecoratedTest, NoOperatorThatAutocastCasts) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 39);
    const auto forward = forward_product(run);
    const auto backward = backward_product(run, 12, {.flags = 0, .op = "aten::mul.Tensor"});
    run.enter(region).deep().called(forward).exit().called(backward).shallow();
  }));
}

TEST_F(AutogradFnUndecoratedTest, AForwardInFloat32) {
  expect_none(judged([](TestRun& run) {
    const auto forward = run.use({.op = "aten::matmul",
                                  .operands = {operand(kFloat32), operand(kFloat32, Role::kWeight)},
                                  .flags = kEligible,
                                  .outside = true,
                                  .stack = in_forward(run, 6)});
    const auto backward = backward_product(run, 12, {});
    run.deep().called(forward).called(backward).shallow();
  }));
}

TEST_F(AutogradFnUndecoratedTest, ForwardInAndOutsideARegion) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 39);
    const auto forward = forward_product(run);
    const auto in_float = run.use({.op = "aten::matmul",
                                   .operands = {operand(kFloat32), operand(kFloat32, Role::kWeight)},
                                   .flags = kEligible,
                                   .outside = true,
                                   .stack = in_forward(run, 6)});
    const auto backward = backward_product(run, 12, {});
    run.enter(region).deep().called(forward).exit().called(in_float).called(backward).shallow();
  }));
}

TEST_F(AutogradFnUndecoratedTest, ABackwardThatConvertsAllItself) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 39);
    const auto forward = forward_product(run);
    const auto convert = [&](std::int64_t line) {
      return run.use({.op = "aten::to.dtype",
                      .operands = {operand(kBFloat16)},
                      .computed = kFloat32,
                      .flags = lanes::kUseConverts,
                      .phase = Phase::kBackward,
                      .node = "ProductBackward",
                      .outside = true,
                      .stack = in_backward(run, line)});
    };
    const auto gradient = convert(10), saved = convert(11);
    const auto backward = backward_product(run, 12, {});
    run.enter(region).deep().called(forward).exit().called(gradient).called(saved).called(backward);
    run.flowed(run.flow(gradient, backward, 0)).flowed(run.flow(saved, backward, 1)).shallow();
  }));
}

TEST_F(AutogradFnUndecoratedTest, AnotherBackwardPassInsideIsPyTorchsAffair) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 39);
    const auto forward = forward_product(run);
    const auto backward = backward_product(run, 12, {.node = "MmBackward0", .op = "aten::mm"});
    run.enter(region).deep().called(forward).exit().called(backward).shallow();
  }));
}

TEST_F(AutogradFnUndecoratedTest, AFunctionWhoseForwardIsInherited) {
  const auto findings = judged([](TestRun& run) {
    const auto region = run.region("train.py", 39);
    const auto forward = run.use({.op = "aten::linear",
                                  .operands = {operand(kFloat32), operand(kFloat32, Role::kWeight)},
                                  .computed = kBFloat16,
                                  .flags = kEligible,
                                  .stack = in_forward(run, 6, "make.<locals>.Product")});
    const auto backward = backward_product(run, 12, {});
    run.enter(region).deep().called(forward).exit().called(backward).shallow();
  });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].location->line, 12);
}

}  // namespace
}  // namespace castscope::rules::autograd_fn_undecorated
