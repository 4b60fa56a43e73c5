#include "agent/enforce/decided/decisions.h"

#include <gtest/gtest.h>

namespace castscope::enforce {
namespace {

const Overloaded kLinear{"aten::linear", "default"}, kCat{"aten::cat", "default"}, kRoll{"aten::roll", "default"},
    kSoftmax{"aten::softmax", "int"};

class DecisionsTest : public testing::Test {
 protected:
  DecisionsTest() {
    policy_.device = "cpu";
    policy_.tables.emplace_back();
    policy_.pytorchs["cpu"] = {{{"aten::linear", ""}, CastPolicy::kLowerPrecision},
                               {kCat, CastPolicy::kPromote},
                               {kSoftmax, CastPolicy::kFp32SetOptDtype}};
    for (const auto& [op, policy] : policy_.pytorchs["cpu"]) say(op, policy);
  }
  void say(const Overloaded& op, CastPolicy is, std::string message = "") {
    policy_.tables[0].operators[op] = {is, std::move(message)};
  }
  By who(const Overloaded& op, bool has_kernel = true, Device device = Device::kCpu) const {
    return OperatorPlan(policy_, op).who(device, has_kernel);
  }
  ModuleRule& module(ModuleRule::Kind kind) {
    ModuleRule& rule = policy_.modules.emplace_back();
    rule.kind = kind;
    return rule;
  }
  PolicyTable policy_;
};

TEST_F(DecisionsTest, WhatPyTorchDoesAnywayIsLeftToIt) {
  for (const Overloaded& op : {kLinear, kCat, kSoftmax}) EXPECT_EQ(who(op), By::kPyTorch) << op.first;
  EXPECT_EQ(who(kRoll, false), By::kPyTorch);  // no rule, no kernel
}

TEST_F(DecisionsTest, WhereEachArgumentIsCastByItselfTheAddressIsEnough) {
  say({"aten::linear", ""}, CastPolicy::kFp32);
  EXPECT_EQ(who(kLinear), By::kAddress);
  say({"aten::linear", ""}, CastPolicy::kPassthrough);
  EXPECT_EQ(who(kLinear), By::kAddress);
  say(kLinear, CastPolicy::kLowerPrecision);
  policy_.tables[0].dtype = LowerDtype::kFloat16;
  EXPECT_EQ(who(kLinear), By::kAddress);
}

TEST_F(DecisionsTest, WhatTheAddressCannotDoNeedsAKernel) {
  say(kLinear, CastPolicy::kPromote);
  EXPECT_EQ(who(kLinear), By::kKernel);
  say(kLinear, CastPolicy::kBanned, "no");
  EXPECT_EQ(who(kLinear), By::kKernel);
  say(kCat, CastPolicy::kFp32);  // PyTorch's kernel may raise before it casts
  EXPECT_EQ(who(kCat), By::kKernel);
  say(kSoftmax, CastPolicy::kFp32);  // PyTorch's kernel casts nothing
  EXPECT_EQ(who(kSoftmax), By::kKernel);
  say(kRoll, CastPolicy::kLowerPrecision);
  EXPECT_EQ(who(kRoll, false), By::kKernel);
}

TEST_F(DecisionsTest, OfWhatNobodySpeaksTheInsideIsStillAutocast) {
  policy_.tables[0].operators.erase({"aten::linear", ""});
  EXPECT_EQ(who(kLinear), By::kKernel);  // PyTorch's kernel would switch autocast off inside
  EXPECT_FALSE(OperatorPlan(policy_, kLinear).decide(-1).ruled);
  module(ModuleRule::Kind::kPassthrough);
  EXPECT_TRUE(OperatorPlan(policy_, kLinear).decide(0).ruled);
}

TEST_F(DecisionsTest, AnArgumentThatIsNeverCastNeedsAKernel) {
  policy_.tables[0].never_cast[kLinear] = {"bias"};
  EXPECT_EQ(who(kLinear), By::kKernel);
  const OperatorPlan plan(policy_, kLinear);
  ASSERT_NE(plan.decide(-1).never[0], nullptr);
  EXPECT_EQ(*plan.decide(-1).never[0], std::vector<std::string>{"bias"});
}

TEST_F(DecisionsTest, AKernelThatNoListHasIsNotTrusted) {
  EXPECT_EQ(who(kRoll, true), By::kKernel);
  EXPECT_EQ(who(kLinear, false), By::kKernel);  // this PyTorch has no kernel for it, but the policy wants one
}

TEST_F(DecisionsTest, APolicyIsForItsDeviceOrForAny) {
  say(kLinear, CastPolicy::kFp32);
  EXPECT_EQ(who(kLinear, true, Device::kCuda), By::kPyTorch);
  policy_.device = "any";
  EXPECT_EQ(who(kLinear, true, Device::kCuda), By::kKernel);
}

TEST_F(DecisionsTest, AModuleInFloat32CastsWhatAnyListHas) {
  module(ModuleRule::Kind::kFp32);
  policy_.known = {{"aten::layer_norm", ""}};
  EXPECT_EQ(OperatorPlan(policy_, kLinear).decide(0).policy, CastPolicy::kFp32);
  EXPECT_EQ(OperatorPlan(policy_, kLinear).decide(-1).policy, CastPolicy::kLowerPrecision);
  EXPECT_EQ(OperatorPlan(policy_, {"aten::layer_norm", "default"}).decide(0).policy, CastPolicy::kFp32);
  EXPECT_EQ(OperatorPlan(policy_, kRoll).decide(0).policy, CastPolicy::kPassthrough);
  EXPECT_EQ(who(kLinear), By::kAddress);
}

TEST_F(DecisionsTest, AModulesOwnTableDecidesAndExceptionsOfBothHold) {
  policy_.tables.emplace_back().operators[kLinear] = {CastPolicy::kFp32, ""};
  policy_.tables[0].never_cast[kLinear] = {"bias"};
  policy_.tables[1].never_cast[kLinear] = {"input"};
  module(ModuleRule::Kind::kTable).table = 1;
  const OperatorPlan plan(policy_, kLinear);
  EXPECT_EQ(plan.decide(0).policy, CastPolicy::kFp32);
  EXPECT_EQ(*plan.decide(0).never[0], std::vector<std::string>{"input"});
  EXPECT_EQ(*plan.decide(0).never[1], std::vector<std::string>{"bias"});
}

TEST_F(DecisionsTest, ALowerPrecisionOfAModule) {
  module(ModuleRule::Kind::kLower).dtype = LowerDtype::kFloat16;
  const OperatorPlan plan(policy_, kLinear);
  EXPECT_EQ(plan.decide(0).dtype, LowerDtype::kFloat16);
  EXPECT_EQ(plan.decide(-1).dtype, LowerDtype::kAmbient);
}

TEST_F(DecisionsTest, AnOverloadStandsAboveTheName) {
  say({"aten::softmax", ""}, CastPolicy::kFp32);
  EXPECT_EQ(OperatorPlan(policy_, kSoftmax).decide(-1).policy, CastPolicy::kFp32SetOptDtype);
  EXPECT_EQ(OperatorPlan(policy_, {"aten::softmax", "Dimname"}).decide(-1).policy, CastPolicy::kFp32);
}

TEST_F(DecisionsTest, EveryOperatorOfWhichAnythingIsSaid) {
  say(kRoll, CastPolicy::kFp32);
  policy_.known = {{"aten::layer_norm", ""}};
  EXPECT_EQ(operators_of(policy_).size(), 4u);  // linear, cat, softmax, roll
  module(ModuleRule::Kind::kFp32);
  EXPECT_EQ(operators_of(policy_).size(), 5u);
}

}  // namespace
}  // namespace castscope::enforce
