#include "server/rules/testing/enforced_test.h"

namespace castscope::rules::op_fp32_by_policy {
namespace {

using lanes::Phase;
using OpFp32ByPolicyTest = EnforcedRulesTest;

constexpr std::uint16_t kEligible = lanes::kUseEligible | lanes::kUseGradMode;

std::uint32_t in_float(TestRun& run, const std::string& op, std::int64_t line, std::uint16_t flags = kEligible) {
  return run.use({.op = op, .line = line, .operands = {operand(kBFloat16)}, .computed = kFloat32, .flags = flags});
}

TEST_F(OpFp32ByPolicyTest, ListsThem) {
  expect_golden("op_fp32_by_policy_cdist_and_fft", judged([](TestRun& run) {
                  const auto region = run.region("train.py", 5);
                  const auto distance = in_float(run, "aten::cdist", 8), spectrum = in_float(run, "aten::fft_fft", 9);
                  run.enter(region).deep().called(distance, 3).called(spectrum).shallow().exit();
                }));
}

TEST_F(OpFp32ByPolicyTest, KeepsLowPrecision) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto mean = run.use({.op = "aten::mean", .operands = {operand(kBFloat16)}});
    const auto gelu = run.use({.op = "aten::gelu", .operands = {operand(kBFloat16)}});
    run.enter(region).deep().called(mean).called(gelu).shallow().exit();
  }));
}

TEST_F(OpFp32ByPolicyTest, TheLossOfTraining) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto loss = in_float(run, "aten::cross_entropy_loss", 8, kEligible | lanes::kUseReduces);
    const auto backward = run.use({.op = "aten::mm",
                                   .operands = {operand(kBFloat16)},
                                   .phase = Phase::kBackward,
                                   .node = "MmBackward0",
                                   .outside = true});
    run.enter(region).deep().called(loss).exit().called(backward).shallow();
  }));
}

TEST_F(OpFp32ByPolicyTest, TheLossOfAnEvaluation) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto loss = in_float(run, "aten::mse_loss", 8, lanes::kUseEligible | lanes::kUseReduces);
    run.enter(region).deep().called(loss).shallow().exit();
  }));
}

TEST_F(OpFp32ByPolicyTest, GivenFloat32) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto plain = run.use({.op = "aten::cdist", .operands = {operand(kFloat32)}, .flags = kEligible});
    const auto mixed = run.use({.op = "aten::cat",
                                .operands = {operand(kBFloat16), operand(kFloat32)},
                                .computed = kFloat32,
                                .flags = kEligible});
    run.enter(region).deep().called(plain).called(mixed).shallow().exit();
  }));
}

TEST_F(OpFp32ByPolicyTest, AnIslandOnPurpose) {
  expect_none(judged([](TestRun& run) {
    auto info = TestRun::default_region();
    info.enabled = false;
    const auto region = run.region("train.py", 5, info);
    const auto distance = in_float(run, "aten::cdist", 8);
    run.enter(region).deep().called(distance).shallow().exit();
  }));
}

// apex has lists of its own: `add` promotes, and computes in float32 because of the float32 parameter or number.
TEST_F(OpFp32ByPolicyTest, ThePolicyPromotes) {
  for (const auto& wide :
       {operand(kFloat32, Role::kWeight), operand(kFloat32, Role::kActivation, lanes::kOperandScalar)}) {
    expect_none_of("op-fp32-by-policy", judged_under("apex-o1-any", [&](TestRun& run) {
                     const auto region = run.region("train.py", 5);
                     const auto sum = run.use({.op = "aten::add.Tensor",
                                               .operands = {operand(kBFloat16), wide},
                                               .computed = kFloat32,
                                               .flags = kEligible});
                     run.enter(region).deep().called(sum).shallow().exit();
                   }));
  }
}

TEST_F(OpFp32ByPolicyTest, ThePolicyHoldsItInFloat32) {
  const auto findings = judged_under("apex-o1-any", [&](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto power = in_float(run, "aten::pow.Tensor_Scalar", 8);
    run.enter(region).deep().called(power).shallow().exit();
  });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, "op-fp32-by-policy");
}

TEST_F(OpFp32ByPolicyTest, EachJobIsOneFinding) {
  const auto findings = judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    run.enter(region).deep();
    for (int line = 10; line < 40; ++line) run.called(in_float(run, "aten::cdist", line));
    run.shallow().exit();
  });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].location->line, 10);
  EXPECT_EQ(findings[0].related.size(), 20u);
}

const Finding& only(const std::vector<Finding>& found) {
  EXPECT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].rule, "op-fp32-by-policy");
  return found[0];
}

// Code that has enabled=False in a script has already followed the advice.
TEST_F(OpFp32ByPolicyTest, WhereAScriptHasAutocastOff) {
  expect_none_of("op-fp32-by-policy", judged([](TestRun& run) {
                   const auto region = run.region("train.py", 5);
                   const auto prod = in_float(run, "aten::prod", 8, kEligible | lanes::kUseScript);
                   const auto fact = run.fact(FactKind::kScriptIgnoresDisable, 8, {.text = "train.py:7"});
                   run.enter(region).deep().called(prod).shallow().exit().seen(fact);
                 }));
}

// An operator without a kernel in low precision would raise in a region with enabled=False.
TEST_F(OpFp32ByPolicyTest, WithoutAKernelInLowPrecisionNoRegionIsAdvised) {
  const auto found = judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    run.enter(region).deep().called(in_float(run, "aten::fft_fft", 8)).shallow().exit();
  });
  EXPECT_EQ(only(found).fix.find("enabled=False"), std::string::npos) << found[0].fix;
  EXPECT_NE(found[0].fix.find("no kernel of fft_fft for bfloat16 on cpu"), std::string::npos) << found[0].fix;
}

TEST_F(OpFp32ByPolicyTest, TheRegionIsAdvisedForTheOthers) {
  const auto found = judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto prod = in_float(run, "aten::prod", 8), distance = in_float(run, "aten::cdist", 9);
    run.enter(region).deep().called(prod).called(distance).shallow().exit();
  });
  EXPECT_NE(only(found).fix.find("enabled=False"), std::string::npos) << found[0].fix;
  EXPECT_NE(found[0].fix.find("not for cdist"), std::string::npos) << found[0].fix;
}

TEST_F(OpFp32ByPolicyTest, OnAnotherDeviceNothingIsKnownToRaise) {
  const auto found = judged([](TestRun& run) {
    auto info = TestRun::default_region();
    info.device = 1;
    const auto region = run.region("train.py", 5, info);
    const auto distance = run.use({.op = "aten::cdist",
                                   .line = 8,
                                   .operands = {operand(kBFloat16)},
                                   .computed = kFloat32,
                                   .flags = kEligible,
                                   .device = 1});
    run.enter(region).deep().called(distance).shallow().exit();
  });
  EXPECT_NE(only(found).fix.find("enabled=False"), std::string::npos) << found[0].fix;
}

// A region within the script would change nothing.
TEST_F(OpFp32ByPolicyTest, InAScriptTheRegionIsPythons) {
  const auto found = judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    run.enter(region).deep().called(in_float(run, "aten::prod", 8, kEligible | lanes::kUseScript)).shallow().exit();
  });
  EXPECT_NE(only(found).fix.find("of Python"), std::string::npos) << found[0].fix;
}

}  // namespace
}  // namespace castscope::rules::op_fp32_by_policy
