#include "server/policy/elsewhere.h"

#include <gmock/gmock.h>

namespace castscope::policy {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

OperatorName op(const char* name) { return operator_called(name); }

TEST(ElsewhereTest, SoftmaxInLowerPrecisionOnTheCpuIsFloat32OnAGpu) {
  EXPECT_EQ(computes_on("cpu", op("aten::softmax.int"), Given::kLow), Computed::kLow);
  EXPECT_THAT(elsewhere("cpu", op("aten::softmax.int"), Given::kLow),
              ElementsAre(Elsewhere{"cuda", CastPolicy::kFp32SetOptDtype, Computed::kFloat32},
                          Elsewhere{"mps", CastPolicy::kFp32, Computed::kFloat32},
                          Elsewhere{"xpu", CastPolicy::kFp32SetOptDtype, Computed::kFloat32}));
}

TEST(ElsewhereTest, WhatIsGivenFloat32StaysFloat32Everywhere) {
  EXPECT_THAT(elsewhere("cpu", op("aten::softmax.int"), Given::kFloat32), IsEmpty());
}

TEST(ElsewhereTest, ProductsAreInLowerPrecisionEverywhere) {
  EXPECT_THAT(elsewhere("cpu", op("aten::linear"), Given::kMixed), IsEmpty());
  EXPECT_THAT(elsewhere("cuda", op("aten::linear"), Given::kFloat32), IsEmpty());
}

TEST(ElsewhereTest, WhatIsBannedElsewhereRaisesThere) {
  EXPECT_EQ(computes_on("cuda", op("aten::binary_cross_entropy"), Given::kLow), Computed::kRaises);
  EXPECT_EQ(computes_on("cpu", op("aten::binary_cross_entropy"), Given::kLow), Computed::kFloat32);
}

TEST(ElsewhereTest, PromotedOrLeftIsTheSame) {
  EXPECT_THAT(elsewhere("cpu", op("aten::cat"), Given::kMixed), IsEmpty());
  EXPECT_THAT(elsewhere("cpu", op("aten::cat"), Given::kLow), IsEmpty());
}

TEST(ElsewhereTest, ADeviceWithoutPolicyLeavesEverything) {
  EXPECT_EQ(on_device("hpu", op("aten::linear")).policy, CastPolicy::kPassthrough);
}

}  // namespace
}  // namespace castscope::policy
