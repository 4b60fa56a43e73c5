#include "server/rules/testing/autograd_test.h"

namespace castscope::rules::autograd_fn_wrong_dtype {
namespace {

using AutogradFnWrongDtypeTest = AutogradTest;

std::uint32_t float16_region(TestRun& run) {
  auto info = TestRun::default_region();
  info.dtype = kFloat16;
  return run.region("train.py", 11, info);
}

TEST_F(AutogradFnWrongDtypeTest, BackwardInFloat16) {
  expect_golden("autograd_fn_wrong_dtype_backward_in_float16", judged([](TestRun& run) {
                  const auto region = run.region("train.py", 39);
                  const auto forward = forward_product(run);
                  const auto restored = float16_region(run);
                  const auto backward = backward_product(run, 12, {.computed = kFloat16, .outside = false});
                  run.enter(region).deep().called(forward, 2).exit();
                  run.enter(restored).called(backward, 2).shallow().exit();
                }));
}

TEST_F(AutogradFnWrongDtypeTest, BackwardInTheDtypeOfForward) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 39);
    const auto forward = forward_product(run);
    const auto backward = backward_product(run, 12, {.computed = kBFloat16, .outside = false});
    run.enter(region).deep().called(forward).exit().enter(region).called(backward).shallow().exit();
  }));
}

TEST_F(AutogradFnWrongDtypeTest, ForwardWithoutARegionBackwardInOne) {
  const auto findings = judged([](TestRun& run) {
    const auto forward = run.use({.op = "aten::matmul",
                                  .operands = {operand(kFloat32), operand(kFloat32, Role::kWeight)},
                                  .flags = kEligible,
                                  .outside = true,
                                  .stack = in_forward(run, 6)});
    const auto region = run.region("train.py", 41);
    const auto backward = backward_product(run, 12, {.computed = kBFloat16, .outside = false});
    run.deep().called(forward).enter(region).called(backward).exit().shallow();
  });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, "autograd-fn-wrong-dtype");
}

TEST_F(AutogradFnWrongDtypeTest, AForwardInBothDtypes) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 39);
    const auto forward = forward_product(run);
    const auto other = float16_region(run);
    const auto in_half = forward_product(run, kFloat16);
    const auto backward = backward_product(run, 12, {.computed = kFloat16, .outside = false});
    run.enter(region).deep().called(forward).exit();
    run.enter(other).called(in_half).exit().enter(other).called(backward).shallow().exit();
  }));
}

}  // namespace
}  // namespace castscope::rules::autograd_fn_wrong_dtype
