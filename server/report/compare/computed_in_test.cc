#include "server/report/compare/computed_in.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace castscope::report {
namespace {

AccountPrecision called(std::int64_t line, const std::string& op, const std::string& computed,
                        const std::string& half_from = "") {
  return {.file = "net.py",
          .function = "Net.forward",
          .model = "Net",
          .module = "block",
          .op = op,
          .computed = computed,
          .line = line,
          .half_from = half_from};
}

Account run_with(std::vector<AccountPrecision> operators) {
  Account one;
  one.operators = std::move(operators);
  return one;
}

std::vector<std::string> ops(const std::vector<PrecisionChange>& changes) {
  std::vector<std::string> all;
  for (const PrecisionChange& change : changes)
    all.push_back(change.before.op + " " + change.before.computed + " " + change.after.computed);
  return all;
}

TEST(ComputedIn, WhatTheListsDoNotExplainComesFirst) {
  const Account before = run_with({called(8, "aten::softmax", "float32"), called(9, "aten::mul", "float32"),
                                   called(10, "aten::arange", "float32"), called(11, "aten::mm", "float32")});
  const Account after =
      run_with({called(8, "aten::softmax", "float32"), called(9, "aten::mul", "bfloat16", "arguments"),
                called(10, "aten::arange", "bfloat16", "code"), called(11, "aten::mm", "bfloat16", "autocast")});
  EXPECT_THAT(ops(precision_changes(before, after)),
              ::testing::ElementsAre("aten::arange float32 bfloat16", "aten::mul float32 bfloat16",
                                     "aten::mm float32 bfloat16"));
  EXPECT_THAT(ops(precision_changes(after, before)),
              ::testing::ElementsAre("aten::arange bfloat16 float32", "aten::mul bfloat16 float32",
                                     "aten::mm bfloat16 float32"));
}

// x * rsqrt(…) in float32, and its product with a weight in bfloat16: two lines of one function.
TEST(ComputedIn, LinesArePairedInTheirOrder) {
  const Account before = run_with({called(8, "aten::mul", "float32"), called(9, "aten::mul", "float32")});
  const Account after =
      run_with({called(18, "aten::mul", "float32"), called(19, "aten::mul", "bfloat16", "arguments")});
  const auto changes = precision_changes(before, after);
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].before.line, 9);
  EXPECT_EQ(changes[0].after.line, 19);
}

TEST(ComputedIn, AnEditedFunctionIsComparedAsAWhole) {
  const Account before = run_with({called(8, "aten::mul", "float32")});
  const Account after = run_with({called(8, "aten::mul", "bfloat16", "arguments"), called(9, "aten::mul", "float32")});
  EXPECT_THAT(precision_changes(before, after), ::testing::IsEmpty());
}

// state.copy_(state * 0.999 + weight * 0.001), where the state is in bfloat16.
TEST(ComputedIn, ALineThatCallsAnOperatorTwice) {
  const Account before = run_with({called(8, "aten::mul", "float32")});
  const Account after = run_with({called(8, "aten::mul", "bfloat16", "arguments"), called(8, "aten::mul", "float32")});
  for (const auto& changes : {precision_changes(before, after), precision_changes(after, before)}) {
    ASSERT_EQ(changes.size(), 1u);
    EXPECT_TRUE(changes[0].in_part);
  }
  EXPECT_EQ(precision_changes(before, after)[0].after.computed, "bfloat16");
  EXPECT_THAT(precision_changes(after, after), ::testing::IsEmpty());
}

TEST(ComputedIn, WhatLosesMostComesBeforeWhatLosesNothing) {
  const Account before = run_with({called(8, "aten::cat", "float32"), called(9, "aten::gelu", "float32"),
                                   called(10, "aten::sub.Tensor", "float32")});
  Account after = before;
  for (AccountPrecision& one : after.operators) one.computed = "bfloat16", one.half_from = "arguments";
  EXPECT_THAT(ops(precision_changes(before, after)),
              ::testing::ElementsAre("aten::sub.Tensor float32 bfloat16", "aten::gelu float32 bfloat16",
                                     "aten::cat float32 bfloat16"));
}

TEST(ComputedIn, AModelUnderAnotherName) {
  const Account before = run_with({called(8, "aten::cos", "float32")});
  Account after = run_with({called(8, "aten::cos", "bfloat16", "arguments")});
  after.operators[0].model = "Wrapper";
  after.operators[0].module = "inner.block";
  EXPECT_EQ(precision_changes(before, after).size(), 1u) << "it stands in another model";
  after.operators[0].function = "Network.forward";
  EXPECT_EQ(precision_changes(before, after).size(), 1u) << "its class was renamed";
  after.operators[0].file = "other.py";
  EXPECT_EQ(precision_changes(before, after).size(), 0u);
}

TEST(ComputedIn, WhatTheFirstRunDoesNotHave) {
  const Account before = run_with({called(8, "aten::mul", "float32")});
  Account after = run_with({called(8, "aten::mul", "float32"), called(9, "aten::arange", "bfloat16", "code"),
                            called(9, "aten::exp", "float32")});
  const auto fresh = new_in_a_half(before, after);
  ASSERT_EQ(fresh.size(), 1u);
  EXPECT_EQ(fresh[0].op, "aten::arange");
  for (AccountPrecision& one : after.operators) one.function = "Net.head";  // nobody looked there before
  EXPECT_THAT(new_in_a_half(before, after), ::testing::IsEmpty());
}

}  // namespace
}  // namespace castscope::report
