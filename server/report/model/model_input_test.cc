#include "server/report/model/model_input.h"

#include "server/report/testing/test_report.h"

namespace castscope::report {
namespace {

using lanes::Role;
using store::entering;
using store::kBFloat16;
using store::kFloat32;
using store::kInt64;
using store::operand;
using store::TestRun;
using store::TestUse;

TestUse linear(Role role) {
  return {.op = "aten::linear",
          .line = 12,
          .operands = {entering(kBFloat16, operand(kFloat32, role))},
          .computed = kBFloat16,
          .flags = lanes::kUseEligible,
          .names = {"input"}};
}
TestUse kept(const std::string& op, std::uint8_t dtype) {
  return {.op = op, .line = 9, .operands = {operand(dtype, Role::kInput)}, .computed = kFloat32, .names = {"input"}};
}

class ModelInputTest : public RecordedTest {
 protected:
  // Records these operators one after the other; each takes what the one before returned.
  std::string line(const std::vector<TestUse>& uses) {
    const store::RunData data = recorded([&](TestRun& run) {
      run.step().deep().enter(run.region("train.py", 5));
      std::uint32_t before = 0;
      for (const TestUse& one : uses) {
        const std::uint32_t use = run.use(one);
        run.called(use);
        if (before != 0) run.flowed(run.flow(before, use));
        before = use;
      }
      run.exit().shallow();
    });
    const auto input = model_input(data);
    return input ? input_line(data, *input) : "";
  }
};

TEST_F(ModelInputTest, IsCastAtOnce) {
  EXPECT_EQ(line({linear(Role::kInput)}), "cast from float32 to bfloat16, first for linear input, train.py:12");
}

TEST_F(ModelInputTest, StaysAsItIsUntilAnOperatorIsOnTheList) {
  EXPECT_EQ(line({kept("aten::layer_norm", kFloat32), linear(Role::kActivation)}),
            "float32, which layer_norm, train.py:9, takes as it is (" +
                rules::words(rules::NotCast::kNotListed, kFloat32) +
                "); what comes of it is first cast to bfloat16 for linear input, train.py:12");
}

TEST_F(ModelInputTest, IsCastWithinTheOperator) {
  TestUse product = kept("aten::einsum", kFloat32);
  product.computed = kBFloat16;
  EXPECT_EQ(line({product}), "float32, which einsum, train.py:9, has cast by an operator that it calls");
}

TEST_F(ModelInputTest, OfIntegersIsNeverCast) {
  EXPECT_EQ(line({kept("aten::embedding", kInt64), linear(Role::kActivation)}),
            "int64, which embedding, train.py:9, takes as it is (an integer tensor); what comes of it is first cast to "
            "bfloat16 for linear input, train.py:12");
}

// A batch that is stacked in the same step comes out of an operator, and is still the model's input.
TEST_F(ModelInputTest, MayBeMadeByOperatorsBeforeTheRegion) {
  TestUse stack{.op = "aten::stack", .line = 3, .operands = {operand(kFloat32)}, .computed = kFloat32};
  stack.outside = true;
  TestUse norm = kept("aten::layer_norm", kFloat32);
  norm.operands = {operand(kFloat32)};
  EXPECT_EQ(line({stack, norm, linear(Role::kActivation)}).substr(0, 61),
            "float32, which layer_norm, train.py:9, takes as it is (the op");
}

TestUse within(const std::string& module, TestUse use) {
  use.module = module;
  return use;
}

// A region around a whole job (apex's amp) also contains the making of the batch.
TEST_F(ModelInputTest, BeginsWithTheFirstModuleWhereThereAreAny) {
  const TestUse fill{.op = "aten::randn", .line = 2, .computed = kFloat32};
  const TestUse scale{.op = "aten::mul.Tensor", .line = 3, .operands = {operand(kFloat32)}, .computed = kFloat32};
  EXPECT_EQ(line({fill, scale, within("fc", linear(Role::kActivation))}),
            "cast from float32 to bfloat16, first for linear input, train.py:12");
}

TEST_F(ModelInputTest, IsNotWhatAModuleMade) {
  const TestUse relu{.op = "aten::relu", .line = 13, .operands = {operand(kFloat32)}, .computed = kFloat32};
  TestUse embedding = within("embedding", kept("aten::embedding", kInt64));
  EXPECT_EQ(line({embedding, relu, within("fc", linear(Role::kActivation))}),
            "int64, which embedding, train.py:9, takes as it is (an integer tensor); what comes of it is first cast to "
            "bfloat16 for linear input, train.py:12");
}

TEST_F(ModelInputTest, IsNotGivenToAnOptimizerOrToAnInitialization) {
  TestUse uniform{.op = "aten::uniform_", .line = 2, .operands = {operand(kFloat32, Role::kWeight)}};
  uniform.flags = lanes::kUseWrites;
  EXPECT_EQ(line({uniform, linear(Role::kInput)}),
            "cast from float32 to bfloat16, first for linear input, train.py:12");
}

TEST_F(ModelInputTest, MayBeCastForAnAnnotatedFunction) {
  const store::RunData data = recorded([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto stack = run.line("train.py", 9);
    run.step().deep().enter(region);
    run.cast(run.site({.stack = stack,
                       .call_site = run.call_site("fused", 0, "x"),
                       .region = region,
                       .op = "",
                       .role = Role::kInput,
                       .cause = lanes::Cause::kAnnotation,
                       .why = lanes::WhyNotCached::kNone,
                       .phase = lanes::Phase::kForward,
                       .from = kFloat32,
                       .to = kBFloat16}),
             0x10);
    run.called(run.use({.op = "aten::to.dtype",
                        .operands = {operand(kFloat32, Role::kInput)},
                        .computed = kBFloat16,
                        .flags = lanes::kUseConverts,
                        .stack = stack}));
    run.exit().shallow();
  });
  const auto input = model_input(data);
  ASSERT_TRUE(input.has_value());
  EXPECT_EQ(input_line(data, *input), "cast from float32 to bfloat16, first for fused x, train.py:9");
}

TEST_F(ModelInputTest, MayBeConvertedByTheCodeFirst) {
  TestUse to{.op = "aten::to.dtype", .line = 9, .operands = {operand(kInt64, Role::kInput)}, .computed = kFloat32};
  to.flags = lanes::kUseConverts;
  EXPECT_EQ(line({to, linear(Role::kActivation)}),
            "int64, which the code converts to float32, train.py:9; what comes of it is first cast to bfloat16 for "
            "linear input, train.py:12");
}

TEST_F(ModelInputTest, MayBeCastItselfLater) {
  const std::string text = line({kept("aten::abs", kFloat32), linear(Role::kInput)});
  EXPECT_NE(text.find("; it is first cast to bfloat16 for linear input, train.py:12"), std::string::npos) << text;
}

TEST_F(ModelInputTest, WithoutDeepStepsCastsTell) {
  const store::RunData data = recorded([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto weight = run.weight("train.py", 7, "fc"), input = run.input("train.py", 8, "fc");
    run.enter(region).cast(weight, 0x10, true).cast(input, 0x20).exit();
  });
  const auto input = model_input(data);
  ASSERT_TRUE(input.has_value());
  EXPECT_EQ(input_line(data, *input), "cast from float32 to bfloat16, first for linear input, train.py:8");
}

TEST_F(ModelInputTest, OfNothingNothingIsTold) {
  EXPECT_FALSE(model_input(store::RunData()).has_value());
  EXPECT_EQ(line({linear(Role::kActivation)}), "");
}

}  // namespace
}  // namespace castscope::report
