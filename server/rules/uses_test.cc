#include "server/rules/uses.h"

#include <gtest/gtest.h>

namespace castscope::rules {
namespace {

store::OperatorUse use_of(std::string op, std::uint8_t computed, std::uint16_t flags) {
  store::OperatorUse use;
  use.op = std::move(op);
  use.computed = computed;
  use.flags = flags;
  return use;
}

TEST(UsesTest, NamesOfOperators) {
  EXPECT_EQ(base_name("aten::add.Tensor"), "aten::add");
  EXPECT_EQ(base_name("aten::mm"), "aten::mm");
  EXPECT_EQ(short_name("aten::add.Tensor"), "add");
  EXPECT_EQ(short_name("mylib::fused.default"), "mylib::fused");  // whose it is matters
}

TEST(UsesTest, WhoPromotesAndWhoIsHeldInFloat32) {
  EXPECT_TRUE(promotes_to_widest(use_of("aten::add.Tensor", kFloat, 0)));
  EXPECT_TRUE(promotes_to_widest(use_of("aten::cat", kFloat, lanes::kUseEligible)));
  EXPECT_FALSE(promotes_to_widest(use_of("aten::mse_loss", kFloat, lanes::kUseEligible)));
  EXPECT_FALSE(promotes_to_widest(use_of("aten::layer_norm", kFloat, lanes::kUseElsewhere)));
  EXPECT_TRUE(is_held_in_float32(use_of("aten::layer_norm", kFloat, lanes::kUseElsewhere)));
  EXPECT_FALSE(is_held_in_float32(use_of("aten::layer_norm", kBrain, lanes::kUseElsewhere)));
  EXPECT_FALSE(is_held_in_float32(use_of("aten::cat", kFloat, lanes::kUseEligible)));
}

TEST(UsesTest, OperandsOfAListShareTheirArgument) {
  store::OperatorUse cat;
  cat.operands = {{0, kBrain, lanes::Role::kActivation, 0}, {0, kFloat, lanes::Role::kInput, 0}};
  ASSERT_NE(operand_at(cat, 0, kFloat), nullptr);
  EXPECT_EQ(operand_at(cat, 0, kFloat)->role, lanes::Role::kInput);
  EXPECT_EQ(operand_at(cat, 1, kFloat), nullptr);
}

TEST(UsesTest, WhatIsSavedIsSpreadOverAllSteps) {
  store::RunData data;
  EXPECT_FALSE(saved_per_step(data, 1000));
  data.step_runs.push_back({.process = 1, .first = 0, .last = 9, .begin_ns = 0, .end_ns = 10'000});
  const auto saved = saved_per_step(data, 1000);
  ASSERT_TRUE(saved);
  EXPECT_DOUBLE_EQ(saved->ns_per_step, 100);
  EXPECT_DOUBLE_EQ(saved->share_of_step, 0.1);
  EXPECT_FALSE(saved_per_step(data, 0));
}

}  // namespace
}  // namespace castscope::rules
