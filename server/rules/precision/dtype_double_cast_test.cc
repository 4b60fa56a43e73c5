#include <gmock/gmock.h>

#include "server/rules/testing/rules_test.h"

namespace castscope::rules::dtype_double_cast {
namespace {

using DtypeDoubleCastTest = RulesTest;

// Adds a site at which autocast casts an argument of linear at line 8.
std::uint32_t cast_site(TestRun& run, Role role, std::uint8_t from, std::uint8_t to, const std::string& argument) {
  store::SiteInfo info;
  info.stack = run.line("train.py", 8);
  info.call_site = run.call_site("aten::linear", argument == "input" ? 0 : 1, argument);
  info.region = 1;
  info.role = role;
  info.cause = lanes::Cause::kAutocast;
  info.why = from == kFloat32 ? WhyNotCached::kNoRequiresGrad : WhyNotCached::kNotFp32;
  info.phase = lanes::Phase::kForward;
  info.from = from;
  info.to = to;
  return run.site(info);
}

TEST_F(DtypeDoubleCastTest, AHalfModelInABfloat16Region) {
  expect_golden("dtype_double_cast_float16_model_in_bfloat16_region", judged([](TestRun& run) {
                  const auto region = run.region("train.py", 5);
                  const auto weight = cast_site(run, Role::kWeight, kFloat16, kBFloat16, "weight");
                  const auto bias = cast_site(run, Role::kWeight, kFloat16, kBFloat16, "bias");
                  const auto input = cast_site(run, Role::kInput, kFloat32, kBFloat16, "input");
                  for (int i = 0; i < 3; ++i) {
                    run.step().enter(region).cast(weight, kWeight).cast(bias, kOther).cast(input, 0x10).exit();
                  }
                }));
}

TEST_F(DtypeDoubleCastTest, TheSameDtypeIsCastNowhere) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto input = cast_site(run, Role::kInput, kFloat32, kBFloat16, "input");
    run.enter(region).cast(input, 0x10).exit();
  }));
}

TEST_F(DtypeDoubleCastTest, DataThatComesInAsFloat16HasToBeCast) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto input = cast_site(run, Role::kInput, kFloat16, kBFloat16, "input");
    run.enter(region).cast(input, 0x10).exit();
  }));
}

TEST_F(DtypeDoubleCastTest, WhatTheCodeMadeFloat16DoesNot) {
  const auto findings = judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto input = cast_site(run, Role::kInput, kFloat16, kBFloat16, "input");
    const auto half = run.use({.op = "aten::to.dtype",
                               .line = 7,
                               .operands = {operand(kFloat32)},
                               .computed = kFloat16,
                               .flags = lanes::kUseConverts});
    const auto linear = run.use({.op = "aten::linear",
                                 .line = 8,
                                 .operands = {operand(kFloat16)},
                                 .computed = kBFloat16,
                                 .flags = lanes::kUseEligible});
    run.enter(region).deep().called(half).called(linear).flowed(run.flow(half, linear, 0, kBFloat16));
    run.cast(input, 0x10).exit();
  });
  ASSERT_EQ(findings.size(), 1u);
  ASSERT_EQ(findings[0].related.size(), 1u);
  EXPECT_EQ(findings[0].related[0].line, 7);
}

}  // namespace
}  // namespace castscope::rules::dtype_double_cast
