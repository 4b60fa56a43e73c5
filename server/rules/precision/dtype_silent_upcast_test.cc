#include <gmock/gmock.h>

#include "server/rules/rules_test.h"

namespace castscope::rules {
namespace {

using DtypeSilentUpcastTest = RulesTest;

std::uint32_t linear(TestRun& run, std::int64_t line, std::uint8_t given) {
  return run.use({.op = "aten::linear",
                  .line = line,
                  .operands = {operand(given), operand(kFloat32, Role::kWeight)},
                  .computed = kBFloat16,
                  .flags = lanes::kUseEligible});
}
// of a low-precision value and a float32 one
std::uint32_t add(TestRun& run, std::int64_t line, Role of_float32, const std::string& op = "aten::add.Tensor",
                  std::uint16_t flags = 0) {
  return run.use({.op = op,
                  .line = line,
                  .operands = {operand(kBFloat16), operand(kFloat32, of_float32)},
                  .computed = kFloat32,
                  .flags = flags});
}
std::uint32_t on_float32(TestRun& run, std::int64_t line, const std::string& op, std::uint16_t flags = 0) {
  return run.use({.op = op, .line = line, .operands = {operand(kFloat32)}, .flags = flags});
}

TEST_F(DtypeSilentUpcastTest, C28_AFloat32Bias) {
  expect_golden("C-28", judged([](TestRun& run) {
                  const auto region = run.region("train.py", 5);
                  const auto product = linear(run, 7, kFloat32), sum = add(run, 8, Role::kWeight);
                  const auto relu = on_float32(run, 9, "aten::relu"), head = linear(run, 10, kFloat32);
                  run.enter(region).deep().called(product).called(sum).called(relu).called(head);
                  run.flowed(run.flow(product, sum)).flowed(run.flow(sum, relu));
                  run.flowed(run.flow(relu, head, 0, kBFloat16)).exit().step();
                }));
}

TEST_F(DtypeSilentUpcastTest, C28_ALossAgainstFloat32Targets) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto product = linear(run, 7, kFloat32), difference = add(run, 8, Role::kInput, "aten::sub.Tensor");
    const auto square = on_float32(run, 8, "aten::pow.Tensor_Scalar", lanes::kUseElsewhere);
    run.enter(region).deep().called(product).called(difference).called(square);
    run.flowed(run.flow(product, difference)).flowed(run.flow(difference, square)).exit().step();
  }));
}

TEST_F(DtypeSilentUpcastTest, AFloat32MaskBeforeASoftmax) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto product = linear(run, 7, kFloat32), sum = add(run, 8, Role::kInput);
    const auto softmax = on_float32(run, 9, "aten::softmax.int", lanes::kUseElsewhere);
    const auto head = linear(run, 10, kFloat32);
    run.enter(region).deep().called(product).called(sum).called(softmax).called(head);
    run.flowed(run.flow(product, sum)).flowed(run.flow(sum, softmax));
    run.flowed(run.flow(softmax, head, 0, kBFloat16)).exit().step();
  }));
}

TEST_F(DtypeSilentUpcastTest, C29_AFloat32ResidualStreamIsOneFinding) {
  const auto findings = judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto product = linear(run, 7, kFloat32), first = add(run, 8, Role::kInput),
               second = add(run, 9, Role::kActivation);
    run.enter(region).deep().called(product, 6).called(first, 3).called(second, 3);
    run.flowed(run.flow(product, first), 3).flowed(run.flow(product, second), 3);
    run.flowed(run.flow(first, second, 1), 3).flowed(run.flow(second, first, 1), 2);
    run.flowed(run.flow(first, product, 0, kBFloat16), 3).flowed(run.flow(second, product, 0, kBFloat16), 2).exit();
  });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].location->line, 8);
  EXPECT_TRUE(findings[0].deep_only);
}

TEST_F(DtypeSilentUpcastTest, C29_AResidualStreamInLowPrecision) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto product = linear(run, 7, kBFloat16);
    const auto sum =
        run.use({.op = "aten::add.Tensor", .line = 8, .operands = {operand(kBFloat16), operand(kBFloat16)}});
    run.enter(region).deep().called(product, 3).called(sum, 3);
    run.flowed(run.flow(product, sum), 3).flowed(run.flow(sum, product), 3).exit();
  }));
}

TEST_F(DtypeSilentUpcastTest, AStreamBetweenNormsIsFloat32Anyway) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto product = linear(run, 7, kFloat32), sum = add(run, 8, Role::kActivation);
    const auto norm = on_float32(run, 9, "aten::layer_norm", lanes::kUseElsewhere);
    run.enter(region).deep().called(product, 3).called(sum, 3).called(norm, 3);
    run.flowed(run.flow(product, sum), 3).flowed(run.flow(sum, norm), 3).flowed(run.flow(sum, sum, 1), 2);
    run.flowed(run.flow(norm, product, 0, kBFloat16), 3).exit();
  }));
}

TEST_F(DtypeSilentUpcastTest, NumbersAnd0DimTensorsPromoteNothing) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto product = linear(run, 7, kBFloat16);
    const auto scaled =
        run.use({.op = "aten::mul.Tensor",
                 .line = 8,
                 .operands = {operand(kBFloat16), operand(kFloat32, Role::kWeight, lanes::kOperandScalar)},
                 .computed = kBFloat16});
    run.enter(region).deep().called(product, 2).called(scaled).flowed(run.flow(product, scaled));
    run.flowed(run.flow(scaled, product)).exit();
  }));
}

TEST_F(DtypeSilentUpcastTest, WhatIsLowPrecisionFromOutsideIsNotAutocasts) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto sum = add(run, 8, Role::kInput), head = linear(run, 10, kFloat32);
    run.enter(region).deep().called(sum).called(head).flowed(run.flow(sum, head, 0, kBFloat16)).exit();
  }));
}

TEST_F(DtypeSilentUpcastTest, AddingUpInPlaceInFloat32) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto zeros = run.use({.op = "aten::zeros", .line = 6, .computed = kFloat32});
    const auto product = linear(run, 7, kFloat32), head = linear(run, 10, kFloat32);
    const auto sum = run.use({.op = "aten::add_.Tensor",
                              .line = 8,
                              .operands = {operand(kFloat32), operand(kBFloat16)},
                              .computed = kFloat32,
                              .flags = lanes::kUseWrites});
    run.enter(region).deep().called(zeros).called(product, 3).called(sum, 3).called(head);
    run.flowed(run.flow(zeros, sum)).flowed(run.flow(product, sum, 1), 3).flowed(run.flow(sum, sum), 2);
    run.flowed(run.flow(sum, head, 0, kBFloat16)).exit();
  }));
}

}  // namespace
}  // namespace castscope::rules
