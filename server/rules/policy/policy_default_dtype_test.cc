#include "server/rules/testing/rules_test.h"

namespace castscope::rules::policy_default_dtype {
namespace {

using PolicyDefaultDtypeTest = RulesTest;

constexpr std::uint8_t kCpu = 0, kCuda = 1, kXpu = 12;

std::uint32_t region_on(TestRun& run, std::uint8_t device, std::uint8_t dtype, bool by_default = true) {
  auto info = TestRun::default_region();
  info.device = device;
  info.dtype = dtype;
  info.flags = by_default ? lanes::kRegionDefaultDtype : 0;
  return run.region("train.py", 5, info);
}

TEST_F(PolicyDefaultDtypeTest, Float16OnXpu) {
  expect_golden("policy_default_dtype_float16_on_xpu",
                judged([](TestRun& run) { run.enter(region_on(run, kXpu, kFloat16)).exit(); }));
}

TEST_F(PolicyDefaultDtypeTest, DtypeGiven) {
  expect_none(judged([](TestRun& run) { run.enter(region_on(run, kXpu, kFloat16, false)).exit(); }));
}

TEST_F(PolicyDefaultDtypeTest, WhatEverybodyWrites) {
  expect_none(judged([](TestRun& run) { run.enter(region_on(run, kCpu, kBFloat16)).exit(); }));
  expect_none(judged([](TestRun& run) { run.enter(region_on(run, kCuda, kFloat16)).exit(); }));
}

TEST_F(PolicyDefaultDtypeTest, OneLineWithTwoDefaults) {
  const auto findings = judged([](TestRun& run) {
    run.enter(region_on(run, kCpu, kBFloat16)).exit();
    run.enter(region_on(run, kCpu, kFloat16)).exit();
  });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].title, "this region names no dtype, and the default was bfloat16 and float16 on cpu");
}

TEST_F(PolicyDefaultDtypeTest, ARegionOfTheWrongDevice) {
  expect_none_of("policy-default-dtype", judged([](TestRun& run) {
                   const auto region = region_on(run, kXpu, kFloat16);
                   const auto product =
                       run.use({.op = "aten::mm", .operands = {operand(kFloat32)}, .flags = lanes::kUseEligible});
                   run.enter(region).deep().called(product).shallow().exit();
                 }));
}

// A number is made on the CPU; the other operators run on the right device.
TEST_F(PolicyDefaultDtypeTest, OneOperatorOfAnotherDevice) {
  const auto findings = judged([](TestRun& run) {
    const auto region = region_on(run, kXpu, kFloat16);
    const auto on_cpu = run.use({.op = "aten::mul.Tensor", .operands = {operand(kFloat32)}});
    const auto product = run.use({.op = "aten::mm",
                                  .operands = {operand(kFloat32)},
                                  .computed = kFloat16,
                                  .flags = lanes::kUseEligible,
                                  .device = kXpu});
    run.enter(region).deep().called(on_cpu).called(product).shallow().exit();
  });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, "policy-default-dtype");
}

}  // namespace
}  // namespace castscope::rules::policy_default_dtype
