#include "server/rules/evidence/operators/not_cast.h"

#include <gtest/gtest.h>

#include <set>

#include "server/policy/compiled.h"
#include "server/policy/load.h"
#include "server/rules/evidence/operators/dtypes.h"

namespace castscope::rules {
namespace {

using lanes::Role;

constexpr std::uint8_t kCpu = 0, kCuda = 1, kLong = 4, kBool = 11, kComplex = 9;

lanes::Operand given(std::uint8_t dtype, std::uint8_t entered = kNoDtype, std::uint8_t flags = 0) {
  lanes::Operand operand{0, dtype, Role::kActivation, flags};
  operand.entered = entered;
  return operand;
}

// A region of bfloat16 on the CPU, with the operators in it.
class NotCastTest : public ::testing::Test {
 protected:
  NotCastTest() { region(kCpu, {}); }
  store::RegionId region(std::uint8_t device, store::RegionId parent, bool enabled = true) {
    store::Region one;
    one.id = store::RegionId(run_.regions.size() + 1);
    one.device = device, one.dtype = kBrain, one.parent = parent, one.enabled = enabled;
    run_.regions.push_back(one);
    return one.id;
  }
  store::OperatorUse use(const std::string& op, std::uint16_t flags, std::uint8_t computed,
                         std::vector<lanes::Operand> operands) {
    store::OperatorUse one;
    one.op = op, one.flags = flags, one.computed = computed, one.region = store::RegionId(1);
    one.operands = std::move(operands);
    one.argument_names = {"input", "weight"};
    return one;
  }
  NotCast why(const store::OperatorUse& use, std::size_t operand = 0) const {
    return CastReasons(run_).of(use, operand);
  }
  void enforce(const std::string& name) {
    const auto policy = policy::load(name);
    ASSERT_TRUE(policy.ok());
    run_.start.policy = policy::compiled(*policy);
    run_.processes.resize(1);
    run_.processes.front().attributes = {{"enforced_policy", name}};
  }

  store::RunData run_;
};

// F.nll_loss(h, target, weight) is nll_loss_nd, which calls nll_loss.
TEST_F(NotCastTest, AnOperatorIsCastInTheOneThatItIsMadeOf) {
  store::Site site;
  site.stack = store::StackId(3), site.op = "aten::nll_loss", site.cause = lanes::Cause::kAutocast, site.from = kBrain,
  site.to = kFloat;
  run_.sites.push_back(site);
  auto loss = use("aten::nll_loss_nd", 0, kFloat, {given(kBrain), given(kLong), given(kFloat)});
  loss.stack = store::StackId(3);
  EXPECT_EQ(why(loss, 0), NotCast::kWithin);
  EXPECT_EQ(why(loss, 1), NotCast::kInteger);
  EXPECT_EQ(why(loss, 2), NotCast::kAlready);
  auto sum = use("aten::add.Tensor", 0, kFloat, {given(kBrain), given(kFloat)});  // at the same line: it promotes
  sum.stack = store::StackId(3);
  EXPECT_EQ(why(sum, 0), NotCast::kNotListed);
  loss.stack = store::StackId(4);
  EXPECT_EQ(why(loss, 0), NotCast::kNotListed);
}

// The cell gives back float32, because of its state, and the linears that it calls cast.
TEST_F(NotCastTest, ARecurrentCellIsCastInItsProducts) {
  store::Site site;
  site.stack = store::StackId(3), site.op = "aten::linear", site.cause = lanes::Cause::kAutocast, site.from = kFloat,
  site.to = kBrain;
  site.region = store::RegionId(1);
  run_.sites.push_back(site);
  for (const char* const op : {"aten::lstm_cell", "aten::gru_cell"}) {
    auto cell = use(op, 0, kFloat, {given(kFloat), given(kBrain)});
    cell.stack = store::StackId(3);
    EXPECT_EQ(why(cell, 0), NotCast::kWithin);
    EXPECT_EQ(why(cell, 1), NotCast::kAlready);
    cell.stack = store::StackId(4);
    EXPECT_EQ(why(cell, 0), NotCast::kNotListed) << "nothing was cast there";
  }
}

TEST_F(NotCastTest, InARegionOfAScriptItsOwnListsDecide) {
  run_.regions.front().kind = lanes::RegionKind::kScript;
  const auto in_script = [&](const std::string& op, std::uint8_t dtype, std::uint8_t computed) {
    return why(use(op, lanes::kUseScript | lanes::kUseEligible, computed, {given(dtype)}));
  };
  EXPECT_EQ(in_script("aten::conv_transpose2d.input", kFloat, kFloat), NotCast::kNotListed);
  EXPECT_EQ(in_script("aten::relu", kBrain, kBrain), NotCast::kNotListed);
  EXPECT_EQ(in_script("aten::linear", kBrain, kBrain), NotCast::kAlready);
  EXPECT_EQ(in_script("aten::gelu", kFloat, kFloat), NotCast::kAlready);
  EXPECT_EQ(in_script("aten::add.Tensor", kFloat, kFloat), NotCast::kAlready);
  EXPECT_EQ(in_script("aten::linear", kFloat, kBrain), NotCast::kNone) << "a bias that is Optional";
  EXPECT_EQ(in_script("aten::linear", kDouble, kDouble), NotCast::kFloat64);
}

TEST_F(NotCastTest, WhatWasCastHasNoReason) {
  EXPECT_EQ(why(use("aten::linear", lanes::kUseEligible, kBrain, {given(kFloat, kBrain)})), NotCast::kNone);
}

TEST_F(NotCastTest, OfWhatAKernelHandedOnTheDtypeTells) {
  const auto use_of = [&](const lanes::Operand& operand, std::uint8_t computed = kBrain) {
    return use("aten::linear", lanes::kUseEligible, computed, {operand});
  };
  EXPECT_EQ(why(use_of(given(kBrain, kBrain))), NotCast::kAlready);
  EXPECT_EQ(why(use_of(given(kFloat, kFloat), kFloat)), NotCast::kAlready);  // a loss
  EXPECT_EQ(why(use_of(given(kLong, kLong))), NotCast::kInteger);
  EXPECT_EQ(why(use_of(given(kBool, kBool))), NotCast::kInteger);
  EXPECT_EQ(why(use_of(given(kComplex, kComplex))), NotCast::kNotFloating);
  EXPECT_EQ(why(use_of(given(kDouble, kDouble))), NotCast::kFloat64);
  EXPECT_EQ(why(use_of(given(kDouble, kDouble, lanes::kOperandNumber))), NotCast::kNumber);
  EXPECT_EQ(why(use_of(given(kFloat, kFloat, lanes::kOperandElsewhere))), NotCast::kOtherDevice);
}

TEST_F(NotCastTest, WithoutAKernelTheOperatorsFormTells) {
  EXPECT_EQ(why(use("aten::addmm_", lanes::kUseSiblingEligible | lanes::kUseWrites, kFloat, {given(kFloat)})),
            NotCast::kInPlaceOrOut);
  EXPECT_EQ(why(use("aten::relu", 0, kFloat, {given(kFloat)})), NotCast::kNotListed);
  EXPECT_EQ(why(use("aten::softmax.int", lanes::kUseElsewhere, kBrain, {given(kBrain)})), NotCast::kNotListed);
  EXPECT_EQ(why(use("aten::einsum", 0, kBrain, {given(kFloat)})), NotCast::kWithin);
  EXPECT_EQ(why(use("aten::embedding", 0, kFloat, {given(kLong)})), NotCast::kInteger);
}

// torch.softmax on a GPU: no argument is cast, and it computes in float32.
TEST_F(NotCastTest, AnOperatorThatIsToldItsDtypeConvertsItself) {
  EXPECT_EQ(why(use("aten::softmax.int", lanes::kUseEligible, kFloat, {given(kBrain, kBrain)})), NotCast::kSetsDtype);
}

TEST_F(NotCastTest, AConversionIsNothingThatAutocastWouldCast) {
  EXPECT_EQ(why(use("aten::to.dtype", lanes::kUseConverts, kFloat, {given(kFloat)})), NotCast::kNone);
}

TEST_F(NotCastTest, WhereTheRegionIs) {
  store::OperatorUse one = use("aten::linear", lanes::kUseEligible, kFloat, {given(kFloat)});
  one.region = {};
  EXPECT_EQ(why(one), NotCast::kNoRegion);
  one.region = region(kCpu, store::RegionId(1), /*enabled=*/false);
  EXPECT_EQ(why(one), NotCast::kRegionDisabled);
  one.region = region(kCuda, {});
  EXPECT_EQ(why(one), NotCast::kOtherDevice);
  one.region = region(kCuda, store::RegionId(1));  // around it is one of its own device
  EXPECT_EQ(why(one), NotCast::kAlready);
  one.region = {};
  one.flags |= lanes::kUseScript;
  EXPECT_EQ(why(one), NotCast::kNone);
}

TEST_F(NotCastTest, APolicyThatIsCarriedOutExcludes) {
  const store::OperatorUse one = use("aten::linear", lanes::kUseEligible, kFloat, {given(kFloat, kFloat)});
  EXPECT_EQ(why(one), NotCast::kAlready);
  enforce("fp32-everything");
  EXPECT_EQ(why(one), NotCast::kExcluded);
}

TEST_F(NotCastTest, AnArgumentThatAPolicyKeeps) {
  policy::Policy policy;
  policy.device = "cpu";
  policy.operators[{"aten::linear", ""}] = {.policy = policy::CastPolicy::kLowerPrecision, .message = "", .place = ""};
  policy.never_cast[{"aten::linear", ""}] = {.arguments = {"input"}, .place = ""};
  enforce("torch-cpu");
  run_.start.policy = policy::compiled(policy);
  const store::OperatorUse one =
      use("aten::linear", lanes::kUseEligible, kBrain, {given(kFloat, kFloat), given(kFloat, kBrain)});
  EXPECT_EQ(why(one, 0), NotCast::kExcluded);
  EXPECT_EQ(why(one, 1), NotCast::kNone);
}

TEST_F(NotCastTest, EachHasANameAndWordsOfItsOwn) {
  std::set<std::string> names, texts;
  for (std::size_t i = 0; i < kNotCastReasons; ++i) {
    names.emplace(name(static_cast<NotCast>(i)));
    texts.insert(words(static_cast<NotCast>(i), kBrain));
  }
  EXPECT_EQ(names.size(), kNotCastReasons);
  EXPECT_EQ(texts.size(), kNotCastReasons);
  EXPECT_EQ(words(NotCast::kAlready, kBrain), "already in bfloat16");
}

}  // namespace
}  // namespace castscope::rules
