#include "server/rules/evidence/operators/uses.h"

#include <gtest/gtest.h>

#include "server/rules/evidence/operators/dtypes.h"

namespace castscope::rules {
namespace {

store::OperatorUse use_of(std::string op, std::uint8_t computed, std::uint16_t flags) {
  store::OperatorUse use;
  use.op = std::move(op);
  use.computed = computed;
  use.flags = flags;
  return use;
}

TEST(UsesTest, WhoPromotes) {
  EXPECT_TRUE(promotes_to_widest(use_of("aten::add.Tensor", kFloat, 0)));
  EXPECT_TRUE(promotes_to_widest(use_of("aten::cat", kFloat, lanes::kUseEligible)));
  EXPECT_FALSE(promotes_to_widest(use_of("aten::mse_loss", kFloat, lanes::kUseEligible)));
  EXPECT_FALSE(promotes_to_widest(use_of("aten::layer_norm", kFloat, lanes::kUseElsewhere)));
}

TEST(UsesTest, OperandsOfAListShareTheirArgument) {
  store::OperatorUse cat;
  cat.operands = {{0, kBrain, lanes::Role::kActivation, 0}, {0, kFloat, lanes::Role::kInput, 0}};
  ASSERT_NE(operand_at(cat, 0, kFloat), nullptr);
  EXPECT_EQ(operand_at(cat, 0, kFloat)->role, lanes::Role::kInput);
  EXPECT_EQ(operand_at(cat, 1, kFloat), nullptr);
}

}  // namespace
}  // namespace castscope::rules
