#include "server/policy/operators.h"

#include <gmock/gmock.h>

namespace castscope::policy {
namespace {

using ::testing::HasSubstr;

std::string trouble(const char* op) { return Operators::of_pytorch().trouble(operator_name(op)); }

TEST(OperatorsTest, WhatTakesNoDtypeCannotBeGivenOne) {
  const Operators& all = Operators::of_pytorch();
  EXPECT_THAT(all.trouble_with_dtype(operator_name("relu"), false), HasSubstr("takes no dtype"));
  EXPECT_THAT(all.trouble_with_dtype(operator_name("mm"), true), HasSubstr("takes no dtype"));
  EXPECT_EQ(all.trouble_with_dtype(operator_name("softmax.int"), false), "");
  EXPECT_EQ(all.trouble_with_dtype(operator_name("sum"), false), "");
  EXPECT_THAT(all.trouble_with_dtype(operator_name("norm.Scalar"), false), HasSubstr("takes no dtype"));
  EXPECT_EQ(all.trouble_with_dtype(operator_name("norm.Scalar"), true), "");
  EXPECT_EQ(all.trouble_with_dtype(operator_name("mine::op"), false), "");
  EXPECT_THAT(all.trouble(operator_name("softmax.int"), "=dtype"), HasSubstr("has no argument"));
}

TEST(OperatorsTest, NamesAreReadAndShown) {
  EXPECT_EQ(operator_name("linear"), (OperatorName{"aten::linear", ""}));
  EXPECT_EQ(operator_name("aten::sum.dim_IntList"), (OperatorName{"aten::sum", "dim_IntList"}));
  EXPECT_EQ(operator_name("torchvision::roi_align"), (OperatorName{"torchvision::roi_align", ""}));
  EXPECT_EQ(shown(operator_name("aten::norm.Scalar")), "norm.Scalar");
  EXPECT_EQ(shown(operator_name("torchvision::nms")), "torchvision::nms");
}

TEST(OperatorsTest, WhatAPolicyMayName) {
  for (const char* op : {"linear", "aten::linear.default", "sum.dim_IntList", "torchvision::roi_align",
                         "mine::anything", "view_as_complex.default", "add"})
    EXPECT_EQ(trouble(op), "") << op;
}

TEST(OperatorsTest, AMisspeltOneIsToldTheNearest) {
  EXPECT_THAT(trouble("linera"), HasSubstr("is not an operator of PyTorch 2.13.0; did you mean \"linear\"?"));
  EXPECT_THAT(trouble("sum.dims"), HasSubstr("has no overload dims; it has default, dim_IntList"));
}

TEST(OperatorsTest, WhatWritesIntoItsArgumentsIsRefused) {
  EXPECT_THAT(trouble("add_"), HasSubstr("writes into an argument"));
  EXPECT_THAT(trouble("mm.out"), HasSubstr("writes into an argument"));
  EXPECT_EQ(trouble("mm"), "");
}

TEST(OperatorsTest, AViewNeedsItsOverload) {
  EXPECT_THAT(trouble("view_as_complex"), HasSubstr("view_as_complex.default"));
}

TEST(OperatorsTest, Arguments) {
  const Operators& all = Operators::of_pytorch();
  EXPECT_EQ(all.trouble(operator_name("layer_norm"), "weight"), "");
  EXPECT_THAT(
      all.trouble(operator_name("layer_norm"), "wieght"),
      HasSubstr(
          "has no argument \"wieght\" that holds a tensor; did you mean \"weight\"? (it has bias, input, weight)"));
  EXPECT_THAT(all.trouble(operator_name("layer_norm"), "eps"), HasSubstr("that holds a tensor"));
  EXPECT_EQ(all.trouble(operator_name("torchvision::roi_align"), "rois"), "");
}

}  // namespace
}  // namespace castscope::policy
