#include <gmock/gmock.h>

#include "server/rules/testing/rules_test.h"

namespace castscope::rules::dtype_overflow {
namespace {

using DtypeOverflowTest = RulesTest;

std::uint32_t product(TestRun& run, std::int64_t line, std::vector<lanes::Operand> operands) {
  return run.use({.op = "aten::matmul",
                  .line = line,
                  .operands = std::move(operands),
                  .computed = kFloat16,
                  .flags = lanes::kUseEligible});
}

std::uint32_t cast_site(TestRun& run, std::int64_t line, const std::string& argument = "self") {
  store::SiteInfo info;
  info.stack = run.line("train.py", line);
  info.call_site = run.call_site("aten::matmul", 0, argument);
  info.region = 1;
  info.role = Role::kInput;
  info.cause = lanes::Cause::kAutocast;
  info.phase = lanes::Phase::kForward;
  info.from = kFloat32;
  info.to = kFloat16;
  return run.site(info);
}

TEST_F(DtypeOverflowTest, ALargeProductInFloat16) {
  expect_golden("dtype_overflow_large_product", judged([](TestRun& run) {
                  const auto region = run.region("train.py", 5);
                  const auto site = cast_site(run, 8);
                  const auto scores = product(run, 8, {operand(kFloat32), operand(kFloat32)});
                  const auto next = product(run, 9, {operand(kFloat16), operand(kFloat16, Role::kWeight)});
                  run.enter(region).deep().cast(site, 0x10).values(site, {.most = 700});
                  run.called(scores).values(scores, {.most = 65000, .not_finite = 120});
                  run.called(next).flowed(run.flow(scores, next)).values(next, {.not_finite = 256}).exit();
                }));
}

TEST_F(DtypeOverflowTest, ValuesTooLargeForTheCast) {
  const auto findings = judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto site = cast_site(run, 8);
    const auto scores = product(run, 8, {operand(kFloat32), operand(kFloat16, Role::kWeight)});
    run.enter(region).deep().cast(site, 0x10).values(site, {.most = 3e6, .beyond = 200});
    run.called(scores).values(scores, {.most = 0, .not_finite = 256}).exit();
  });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_THAT(findings[0].title, testing::StartsWith("values of up to 3000000 become infinite"));
}

// To switch autocast off does nothing for an operator for which autocast does nothing.
TEST_F(DtypeOverflowTest, TheFixHelpsTheOperator) {
  const auto fix = [this](const std::string& op, std::uint16_t flags) {
    const auto findings = judged([&](TestRun& run) {
      const auto region = run.region("train.py", 5);
      const auto made = product(run, 7, {operand(kFloat16), operand(kFloat16, Role::kWeight)});
      const auto use =
          run.use({.op = op, .line = 8, .operands = {operand(kFloat16)}, .computed = kFloat16, .flags = flags});
      run.enter(region).deep().called(made).values(made, {.most = 60000}).called(use);
      run.flowed(run.flow(made, use)).values(use, {.most = 0, .not_finite = 256}).exit();
    });
    EXPECT_EQ(findings.size(), 1u) << op;
    return findings.empty() ? "" : findings[0].fix;
  };
  for (const char* op : {"aten::sum", "aten::add.Tensor", "aten::pow.Tensor_Scalar", "aten::mul.Tensor"}) {
    EXPECT_THAT(fix(op, 0), testing::HasSubstr("with .float()"));
    EXPECT_THAT(fix(op, 0), testing::Not(testing::HasSubstr("enabled=False")));
  }
  EXPECT_THAT(fix("aten::matmul", lanes::kUseEligible), testing::HasSubstr("enabled=False"));
  EXPECT_THAT(fix("aten::matmul", lanes::kUseEligible), testing::HasSubstr("with .float()"));
}

TEST_F(DtypeOverflowTest, InfinityInWhatGoesIn) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto site = cast_site(run, 8);
    const auto scores = product(run, 8, {operand(kFloat32), operand(kFloat32, Role::kWeight)});
    run.enter(region).deep().cast(site, 0x10).values(site, {.not_finite = 1});
    run.called(scores).values(scores, {.not_finite = 16}).exit();
  }));
}

TEST_F(DtypeOverflowTest, AfterTheFirstStepTheWeightsAreNotFiniteEither) {
  const auto findings = judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto site = cast_site(run, 8), weight = cast_site(run, 8, "other");
    const auto scores = product(run, 8, {operand(kFloat32), operand(kFloat32, Role::kWeight)});
    run.enter(region).deep();
    for (std::uint32_t step = 0; step < 3; ++step) {
      run.cast(site, 0x10).values(site, {.most = 900}).cast(weight, kWeight).values(weight, {.not_finite = step});
      run.called(scores).values(scores, {.not_finite = 256});
    }
    run.exit();
  });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, "dtype-overflow");
}

TEST_F(DtypeOverflowTest, AfterTheFirstStepAllThatGoesInIsNotFinite) {
  const auto findings = judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto site = cast_site(run, 8), weight = cast_site(run, 8, "other"), bias = cast_site(run, 8, "third");
    const auto scores = product(run, 8, {operand(kFloat32), operand(kFloat32, Role::kWeight)});
    run.enter(region).deep();
    for (std::uint32_t step = 0; step < 9; ++step) {
      const TestRun::Sample updated = {.not_finite = step == 0 ? 0u : 256u};
      run.cast(site, 0x10).values(site, {.most = 90000, .beyond = 100});
      run.cast(weight, kWeight).values(weight, updated).cast(bias, kOther).values(bias, updated);
      run.called(scores).values(scores, {.most = 0, .not_finite = 256});
    }
    run.exit();
  });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_THAT(findings[0].title, testing::StartsWith("values of up to 90000 become infinite"));
}

TEST_F(DtypeOverflowTest, AProductWithItselfAndWhatCameOfIt) {
  const auto findings = judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto site = cast_site(run, 8), weight = cast_site(run, 8, "other");
    const auto hidden = product(run, 8, {operand(kFloat32), operand(kFloat32, Role::kWeight)});
    const auto scores = product(run, 9, {operand(kFloat16), operand(kFloat16)});
    run.enter(region).deep();
    for (std::uint32_t step = 0; step < 9; ++step) {
      run.cast(site, 0x10).values(site, {.most = 900});
      run.cast(weight, kWeight).values(weight, {.not_finite = step < 2 ? 0u : 256u});
      run.called(hidden).values(hidden, {.not_finite = step < 2 ? 0u : 256u});
      run.called(scores).values(scores, {.not_finite = step < 1 ? 0u : 256u});
    }
    run.flowed(run.flow(hidden, scores)).flowed(run.flow(hidden, scores, 1)).exit();
  });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].location->line, 9);
}

TEST_F(DtypeOverflowTest, WhatWentInIsNotKnown) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto scores = product(run, 8, {operand(kFloat16, Role::kInput), operand(kFloat16, Role::kWeight)});
    run.enter(region).deep().called(scores).values(scores, {.not_finite = 16}).exit();
  }));
}

TEST_F(DtypeOverflowTest, InfinitiesThatSomeoneWants) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto site = cast_site(run, 8);
    const auto scores = product(run, 8, {operand(kFloat32), operand(kFloat32, Role::kWeight)});
    const auto masked =
        run.use({.op = "aten::masked_fill.Scalar", .line = 9, .operands = {operand(kFloat16)}, .computed = kFloat16});
    const auto mask = run.use({.op = "aten::mul.Tensor",
                               .line = 10,
                               .operands = {operand(kFloat16), operand(kFloat32, Role::kInput, lanes::kOperandNumber)},
                               .computed = kFloat16});
    run.enter(region).deep().cast(site, 0x10).values(site, {}).called(scores).values(scores, {});
    run.called(masked).flowed(run.flow(scores, masked)).values(masked, {.not_finite = 100});
    run.called(mask).flowed(run.flow(scores, mask)).values(mask, {.most = 0, .not_finite = 100, .zeros = 156}).exit();
  }));
}

TEST_F(DtypeOverflowTest, InBackwardTheScalerSeesToIt) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto site = cast_site(run, 8);
    const auto mm = run.use({.op = "aten::mm",
                             .line = 8,
                             .operands = {operand(kFloat32)},
                             .computed = kFloat16,
                             .flags = lanes::kUseEligible,
                             .phase = lanes::Phase::kBackward});
    run.enter(region).deep().cast(site, 0x10).values(site, {}).called(mm).values(mm, {.not_finite = 256}).exit();
  }));
}

}  // namespace
}  // namespace castscope::rules::dtype_overflow
