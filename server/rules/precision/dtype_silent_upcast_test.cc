#include <gmock/gmock.h>

#include "server/rules/testing/enforced_test.h"

namespace castscope::rules::dtype_silent_upcast {
namespace {

using DtypeSilentUpcastTest = EnforcedRulesTest;

std::uint32_t linear(TestRun& run, std::int64_t line, std::uint8_t given) {
  return run.use({.op = "aten::linear",
                  .line = line,
                  .operands = {operand(given), operand(kFloat32, Role::kWeight)},
                  .computed = kBFloat16,
                  .flags = lanes::kUseEligible});
}
// Adds an addition of a low-precision value and a float32 one.
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

TEST_F(DtypeSilentUpcastTest, AFloat32Bias) {
  expect_golden("dtype_silent_upcast_float32_bias", judged([](TestRun& run) {
                  const auto region = run.region("train.py", 5);
                  const auto product = linear(run, 7, kFloat32), sum = add(run, 8, Role::kWeight);
                  const auto relu = on_float32(run, 9, "aten::relu"), head = linear(run, 10, kFloat32);
                  run.enter(region).deep().called(product).called(sum).called(relu).called(head);
                  run.flowed(run.flow(product, sum)).flowed(run.flow(sum, relu));
                  run.flowed(run.flow(relu, head, 0, kBFloat16)).exit().step();
                }));
}

// castscope enforces a policy by which `add` promotes: it then has an autocast kernel, and computes the same.
TEST_F(DtypeSilentUpcastTest, AFloat32BiasUnderAPolicyThatPromotes) {
  const auto findings = judged_under("apex-o1-any", [](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto product = linear(run, 7, kFloat32);
    const auto sum = add(run, 8, Role::kWeight, "aten::add.Tensor", lanes::kUseEligible);
    const auto relu = on_float32(run, 9, "aten::relu"), head = linear(run, 10, kFloat32);
    run.enter(region).deep().called(product).called(sum).called(relu).called(head);
    run.flowed(run.flow(product, sum, 0, kFloat32)).flowed(run.flow(sum, relu));
    run.flowed(run.flow(relu, head, 0, kBFloat16)).exit().step();
  });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, "dtype-silent-upcast");
}

TEST_F(DtypeSilentUpcastTest, ALossAgainstFloat32Targets) {
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

TEST_F(DtypeSilentUpcastTest, AFloat32ResidualStreamIsOneFinding) {
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
  EXPECT_EQ(findings[0].severity, "performance") << "it is slow, and not wrong";
}

// Values are joined to float32 ones, and a product takes them; or an operator computes with them before.
TEST_F(DtypeSilentUpcastTest, WhatIsOnlyJoinedIsOnlySlow) {
  for (const bool computes : {false, true}) {
    const auto findings = judged([&](TestRun& run) {
      const auto region = run.region("train.py", 5);
      const auto product = linear(run, 7, kFloat32), joined = add(run, 8, Role::kInput, "aten::cat");
      const auto relu = on_float32(run, 9, "aten::relu"), head = linear(run, 10, kFloat32);
      run.enter(region).deep().called(product).called(joined).called(relu).called(head);
      run.flowed(run.flow(product, joined));
      if (computes) run.flowed(run.flow(joined, relu));
      run.flowed(run.flow(computes ? relu : joined, head, 0, kBFloat16)).exit().step();
    });
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].severity, computes ? "warning" : "performance");
  }
}

// As above, but what is added was not computed from the stream.
TEST_F(DtypeSilentUpcastTest, FromElsewhereIsNoStream) {
  const auto findings = judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto product = linear(run, 7, kFloat32), noise = on_float32(run, 6, "aten::mul.Tensor");
    const auto sum = add(run, 8, Role::kActivation), head = linear(run, 9, kFloat32);
    run.enter(region).deep().called(noise).called(product).called(sum).called(head);
    run.flowed(run.flow(product, sum)).flowed(run.flow(noise, sum, 1)).flowed(run.flow(sum, head, 0, kBFloat16)).exit();
  });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].severity, "warning");
}

// Queries and keys are each promoted on a line of their own (8, 9), and go on into other matrix products.
std::vector<Finding> two_promoted(
    const std::function<std::vector<Finding>(const std::function<void(TestRun&)>&)>& judged, Role of_float32,
    bool from_one_table) {
  return judged([&](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto product = linear(run, 7, kFloat32), head = linear(run, 10, kFloat32);
    const auto table = on_float32(run, 6, "aten::tanh");
    run.enter(region).deep().called(product, 2).called(head, 2).called(table);
    for (const std::int64_t line : {8, 9}) {
      const auto turned = add(run, line, of_float32, "aten::mul.Tensor");
      run.called(turned).flowed(run.flow(product, turned)).flowed(run.flow(turned, head, 0, kBFloat16));
      if (from_one_table) run.flowed(run.flow(table, turned, 1));
    }
    run.exit().step();
  });
}

TEST_F(DtypeSilentUpcastTest, SideBySideWithOneFloat32ValueIsOneFinding) {
  const auto judge = [this](const auto& act) { return judged(act); };
  for (const auto& findings :
       {two_promoted(judge, Role::kActivation, true), two_promoted(judge, Role::kBuffer, false)}) {
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].location->line, 8);
    EXPECT_EQ(findings[0].evidence_number[0], std::pair(std::string("calls"), std::int64_t{2}));
    EXPECT_THAT(findings[0].related, testing::Contains(testing::Field(&store::CodeLocation::line, 9)));
  }
  EXPECT_EQ(two_promoted(judge, Role::kWeight, false).size(), 2u) << "each has its parameter";
}

TEST_F(DtypeSilentUpcastTest, AResidualStreamInLowPrecision) {
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

// Adds the operators that PyTorch makes of cell(x) at line 8, with the state that it is given.
std::uint32_t gru_cell(TestRun& run, std::uint8_t state) {
  const auto weight = run.weight("train.py", 8, "cell");  // of the linear that the cell is made of
  const auto cell = run.use({.op = "aten::gru_cell",
                             .line = 8,
                             .operands = {operand(kFloat32, Role::kInput), operand(state)},
                             .computed = state,
                             .flags = lanes::kUseElsewhere,
                             .module = "cell"});
  run.cast(weight, kWeight, true).called(cell);
  return cell;
}

TEST_F(DtypeSilentUpcastTest, ACellThatMakesItsOwnState) {
  expect_golden("dtype_silent_upcast_own_initial_state", judged([](TestRun& run) {
                  const auto region = run.region("train.py", 5);
                  const auto zeros = run.use({.op = "aten::zeros", .line = 8, .computed = kFloat32, .module = "cell"});
                  run.enter(region).deep().called(zeros);
                  run.flowed(run.flow(zeros, gru_cell(run, kFloat32), 1)).exit();
                }));
}

TEST_F(DtypeSilentUpcastTest, StateGivenInLowPrecision) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto zeros = run.use({.op = "aten::zeros", .line = 7, .computed = kBFloat16});
    run.enter(region).deep().called(zeros);
    run.flowed(run.flow(zeros, gru_cell(run, kBFloat16), 1)).exit();
  }));
}

TEST_F(DtypeSilentUpcastTest, StateGivenInFloat32IsTheCodesOwn) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto zeros = run.use({.op = "aten::zeros", .line = 7, .computed = kFloat32});
    run.enter(region).deep().called(zeros);
    run.flowed(run.flow(zeros, gru_cell(run, kFloat32), 1)).exit();
  }));
}

TEST_F(DtypeSilentUpcastTest, ARotationByPositionHasFloat32Tables) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto query = linear(run, 7, kFloat32), head = linear(run, 10, kFloat32);
    const auto by_cos = add(run, 8, Role::kInput, "aten::mul.Tensor");
    const auto turned = run.use({.op = "aten::neg", .line = 6, .operands = {operand(kBFloat16)}});
    const auto by_sin = add(run, 9, Role::kInput, "aten::mul.Tensor");
    const auto sum = run.use({.op = "aten::add.Tensor", .line = 9, .operands = {operand(kFloat32), operand(kFloat32)}});
    run.enter(region).deep().called(query).called(by_cos).called(turned).called(by_sin).called(sum).called(head);
    run.flowed(run.flow(query, by_cos)).flowed(run.flow(query, turned)).flowed(run.flow(turned, by_sin));
    run.flowed(run.flow(by_cos, sum)).flowed(run.flow(by_sin, sum, 1)).flowed(run.flow(sum, head, 0, kBFloat16)).exit();
  }));
}

// Each value is the sum of a layer's product (line 6) and its adapter's (line 7). The first is multiplied by cos, the
// second is turned and multiplied by sin; both are one value in a rotation.
std::vector<Finding> sums_turned(
    const std::function<std::vector<Finding>(const std::function<void(TestRun&)>&)>& judged, bool one_value) {
  return judged([&](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto layer = linear(run, 6, kFloat32), adapter = linear(run, 7, kFloat32), head = linear(run, 10, kFloat32);
    const auto sum_at = [&](std::int64_t line) {
      return run.use({.op = "aten::add.Tensor", .line = line, .operands = {operand(kBFloat16), operand(kBFloat16)}});
    };
    const auto query = sum_at(7), turned_one = one_value ? query : sum_at(8);
    const auto half = run.use({.op = "aten::neg", .line = 8, .operands = {operand(kBFloat16)}});
    const auto by_cos = add(run, 9, Role::kInput, "aten::mul.Tensor");
    const auto by_sin = add(run, 10, Role::kInput, "aten::mul.Tensor");
    const auto both =
        run.use({.op = "aten::add.Tensor", .line = 10, .operands = {operand(kFloat32), operand(kFloat32)}});
    run.enter(region).deep();
    for (const auto use : {layer, adapter, head, query, turned_one, half, by_cos, by_sin, both}) run.called(use);
    for (const auto value : {query, turned_one}) run.flowed(run.flow(layer, value)).flowed(run.flow(adapter, value, 1));
    run.flowed(run.flow(query, by_cos)).flowed(run.flow(turned_one, half)).flowed(run.flow(half, by_sin));
    run.flowed(run.flow(by_cos, both)).flowed(run.flow(by_sin, both, 1)).flowed(run.flow(both, head, 0, kBFloat16));
    run.exit();
  });
}

TEST_F(DtypeSilentUpcastTest, ARotationMayTurnASumOfProducts) {
  const auto judge = [this](const auto& act) { return judged(act); };
  expect_none(sums_turned(judge, true));
  EXPECT_FALSE(sums_turned(judge, false).empty()) << "two values of the same sources are no rotation";
}

TEST_F(DtypeSilentUpcastTest, WhatItCostsIsWhatTheCastsDownTookInAllSteps) {
  const auto findings = judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto product = linear(run, 7, kFloat32), sum = add(run, 8, Role::kWeight), head = linear(run, 10, kFloat32);
    store::SiteInfo info;
    info.stack = run.line("train.py", 10);
    info.call_site = run.call_site("aten::linear", 0, "input");
    info.region = region;
    info.role = Role::kActivation;
    info.cause = lanes::Cause::kAutocast;
    info.from = kFloat32;
    info.to = kBFloat16;
    const auto cast = run.site(info);
    run.deep().called(product).called(sum).called(head);
    run.flowed(run.flow(product, sum)).flowed(run.flow(sum, head, 0, kBFloat16)).shallow();
    for (int i = 0; i < 4; ++i) run.enter(region).cast(cast, 0x10, false, 1000, 5000).exit().step();
  });
  ASSERT_EQ(findings.size(), 1u);
  ASSERT_TRUE(findings[0].savings.has_value());
  EXPECT_GT(findings[0].savings->ns_per_step, 0);
  EXPECT_LE(findings[0].savings->ns_per_step, 5000);
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

// positions × frequencies, whose positions were made in a half at line 7.
std::vector<Finding> of_positions(const auto& judged, double most) {
  return judged([&](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto arange = run.use({.op = "aten::arange", .line = 7, .computed = kBFloat16, .result = kBFloat16});
    const auto angles = add(run, 8, Role::kBuffer, "aten::mul.Tensor"), cos = on_float32(run, 9, "aten::cos");
    const auto head = linear(run, 10, kFloat32);
    run.enter(region).deep().called(arange).integers(arange, {.most = most, .sampled = 64, .integers = 64});
    run.called(angles).called(cos).called(head).flowed(run.flow(arange, angles)).flowed(run.flow(angles, cos));
    run.flowed(run.flow(cos, head, 0, kBFloat16)).exit().step();
  });
}

TEST_F(DtypeSilentUpcastTest, AHalfThatTheCodeMadeIsNamedWhereItWasMade) {
  const auto findings = of_positions([this](const auto& act) { return judged(act); }, 200);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, "dtype-silent-upcast");
  EXPECT_THAT(findings[0].fix, testing::HasSubstr("Cast the buffer to bfloat16 here (.to(torch.bfloat16))."));
  EXPECT_THAT(findings[0].fix, testing::HasSubstr("in float32 where it is made (train.py:7, arange)"));
}

TEST_F(DtypeSilentUpcastTest, IntegersThatTheHalfRoundedAreTheCause) {
  const auto findings = of_positions([this](const auto& act) { return judged(act); }, 767);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, "dtype-position-loss");
  EXPECT_EQ(findings[0].location->line, 7);
}

}  // namespace
}  // namespace castscope::rules::dtype_silent_upcast
