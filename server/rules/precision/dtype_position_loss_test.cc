#include <gmock/gmock.h>

#include "server/rules/testing/rules_test.h"

namespace castscope::rules::dtype_position_loss {
namespace {

using DtypePositionLossTest = RulesTest;

std::uint32_t positions(TestRun& run, std::uint8_t to = kBFloat16, const std::string& argument = "self",
                        Role role = Role::kInput, lanes::Cause cause = lanes::Cause::kAutocast) {
  store::SiteInfo info;
  info.stack = run.line("train.py", 8);
  info.call_site = run.call_site("aten::matmul", 0, argument);
  info.region = 1;
  info.role = role;
  info.cause = cause;
  info.why = WhyNotCached::kNoRequiresGrad;
  info.phase = lanes::Phase::kForward;
  info.from = kFloat32;
  info.to = to;
  return run.site(info);
}

void cast_of(TestRun& run, const TestRun::Sample& sample, std::uint8_t to = kBFloat16,
             lanes::Cause cause = lanes::Cause::kAutocast) {
  const auto region = run.region("train.py", 5);
  const auto site = positions(run, to, "self", Role::kInput, cause);
  run.enter(region).deep().cast(site, 0x10).values(site, sample).exit();
}

TEST_F(DtypePositionLossTest, PositionsBeyond65536) {
  expect_golden("dtype_position_loss_positions_above_65536",
                judged([](TestRun& run) { cast_of(run, {.most = 65599, .sampled = 64, .integers = 64}); }));
}

// Integers and a half are added, multiplied or joined: the integers get the half's dtype.
std::vector<Finding> promoted(const std::function<std::vector<Finding>(const std::function<void(TestRun&)>&)>& judged,
                              const std::string& op, double most, bool even = false, bool exact = false) {
  return judged([&](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto use = run.use({.op = op,
                              .line = 8,
                              .operands = {operand(store::kInt64, Role::kInput), operand(kBFloat16, Role::kInput)},
                              .computed = kBFloat16,
                              .names = {"self", "other"}});
    run.enter(region).deep().called(use).integers(
        use, {.most = most, .sampled = 64, .integers = 64, .even = even, .exact = exact});
    run.exit();
  });
}

TEST_F(DtypePositionLossTest, IntegersBesideAHalf) {
  const auto judge = [this](const auto& act) { return judged(act); };
  expect_golden("dtype_position_loss_integers_beside_a_half", promoted(judge, "aten::add.Tensor", 624));
  EXPECT_EQ(promoted(judge, "aten::mul.Tensor", 625).size(), 1u);
  expect_none(promoted(judge, "aten::add.Tensor", 256));
  expect_none(promoted(judge, "aten::mul.Tensor", 624, false, true));  // exact, and so are its products with ones
  EXPECT_EQ(promoted(judge, "aten::add.Tensor", 624, false, true).size(), 1u);  // a sum is not
  expect_none(promoted(judge, "aten::add.Tensor", 10000, true));                // as large as this, or 0: a mask
}

// A use that gives back a half, of integers: what it counts where it has no operands.
std::uint32_t use_of_integers(TestRun& run, const std::string& op, std::vector<lanes::Operand> operands,
                              std::uint16_t flags = 0) {
  std::vector<std::string> names(operands.size(), "self");
  return run.use({.op = op,
                  .line = 8,
                  .operands = std::move(operands),
                  .computed = kBFloat16,
                  .result = kBFloat16,
                  .flags = flags,
                  .names = std::move(names)});
}

void called_with(TestRun& run, std::uint32_t use, double most, std::uint32_t taker = 0, std::uint8_t argument = 0) {
  const auto region = run.region("train.py", 5);
  run.enter(region).deep().called(use).integers(use, {.most = most, .sampled = 64, .integers = 64});
  if (taker != 0) run.called(taker).flowed(run.flow(use, taker, argument));
  run.exit();
}

TEST_F(DtypePositionLossTest, CountedInAHalf) {
  const auto counts = [&](const std::string& op, double most, std::vector<lanes::Operand> operands = {}) {
    return judged([&](TestRun& run) { called_with(run, use_of_integers(run, op, operands), most); });
  };
  expect_golden("dtype_position_loss_counted_in_a_half", counts("aten::arange", 767));
  expect_none(counts("aten::arange", 255));
  EXPECT_EQ(counts("aten::cumsum", 768, {operand(kBFloat16)}).size(), 1u) << "sums are as they were rounded";
}

TEST_F(DtypePositionLossTest, ConvertedToAHalf) {
  const auto converted = [&](const std::string& taker, std::uint8_t argument) {
    return judged([&](TestRun& run) {
      const auto use = use_of_integers(run, "aten::to.dtype", {operand(store::kInt64)}, lanes::kUseConverts);
      const auto next = run.use({.op = taker, .line = 9, .operands = {operand(kBFloat16), operand(kBFloat16)}});
      called_with(run, use, 767, next, argument);
    });
  };
  expect_golden("dtype_position_loss_converted_to_a_half", converted("aten::mul.Tensor", 0));
  EXPECT_EQ(converted("aten::div.Tensor", 0).size(), 1u);
  expect_none(converted("aten::div.Tensor", 1));  // a mean over so many
}

TEST_F(DtypePositionLossTest, WholeNumbersOfAFloatThatTheCodeConverts) {
  const auto of = [&](lanes::Cause cause) {
    return judged([&](TestRun& run) { cast_of(run, {.most = 767, .sampled = 64, .integers = 64}, kBFloat16, cause); });
  };
  EXPECT_EQ(of(lanes::Cause::kUserTo).size(), 1u);
  expect_none(of(lanes::Cause::kBackward));
}

TEST_F(DtypePositionLossTest, SmallIds) {
  expect_none(judged([](TestRun& run) { cast_of(run, {.most = 255, .sampled = 64, .integers = 64}); }));
}

TEST_F(DtypePositionLossTest, Float16CountsTo2048) {
  expect_none(judged([](TestRun& run) { cast_of(run, {.most = 2047, .sampled = 64, .integers = 64}, kFloat16); }));
  EXPECT_EQ(judged([](TestRun& run) { cast_of(run, {.most = 4095, .sampled = 64, .integers = 64}, kFloat16); }).size(),
            1u);
}

TEST_F(DtypePositionLossTest, NumbersThatAreNotAllWholeAreNoPositions) {
  expect_none(judged([](TestRun& run) { cast_of(run, {.most = 65599.5, .sampled = 64, .integers = 63}); }));
}

TEST_F(DtypePositionLossTest, NumbersThatLowPrecisionHoldsExactly) {
  expect_none(
      judged([](TestRun& run) { cast_of(run, {.most = 65536, .sampled = 64, .integers = 64, .exact = true}); }));
}

TEST_F(DtypePositionLossTest, MasksCountNothing) {
  expect_none(
      judged([](TestRun& run) { cast_of(run, {.most = 3.4028234663852886e38, .sampled = 64, .integers = 64}); }));
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto site = positions(run, kBFloat16, "attn_mask");
    run.enter(region).deep().cast(site, 0x10).values(site, {.most = 10001, .sampled = 64, .integers = 64}).exit();
  }));
}

TEST_F(DtypePositionLossTest, CountsThatAreMostlyZeros) {
  expect_none(judged([](TestRun& run) { cast_of(run, {.most = 301, .sampled = 64, .zeros = 60, .integers = 64}); }));
}

TEST_F(DtypePositionLossTest, NumbersThatHaveNoFractionsAnyhow) {
  expect_none(judged([](TestRun& run) { cast_of(run, {.most = 53519386148865, .sampled = 64, .integers = 64}); }));
}

TEST_F(DtypePositionLossTest, OneAndTheSameNumberEverywhere) {
  expect_none(judged([](TestRun& run) { cast_of(run, {.most = 999, .sampled = 64, .integers = 64, .even = true}); }));
}

TEST_F(DtypePositionLossTest, BesideAnOverflowOfTheSameValue) {
  const TestRun::Sample sample = {.most = 70001, .sampled = 64, .integers = 64, .beyond = 60};
  expect_none(judged([&](TestRun& run) { cast_of(run, sample, kFloat16); }));
}

TEST_F(DtypePositionLossTest, AWeightCountsNothing) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto site = positions(run, kBFloat16, "weight", Role::kWeight);
    run.enter(region).deep().cast(site, 0x10).values(site, {.most = 301, .sampled = 64, .integers = 64}).exit();
  }));
}

}  // namespace
}  // namespace castscope::rules::dtype_position_loss
