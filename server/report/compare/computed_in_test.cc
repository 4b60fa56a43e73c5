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
