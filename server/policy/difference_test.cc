#include "server/policy/difference.h"

#include <gmock/gmock.h>

#include "server/policy/load.h"
#include "server/policy/testing/policies.h"

namespace castscope::policy {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(DifferenceTest, APolicyIsItself) {
  const auto cuda = load("torch-cuda");
  ASSERT_TRUE(cuda.ok());
  EXPECT_FALSE(difference_of(*cuda, *cuda).any());
}

TEST(DifferenceTest, OverloadsThatChangeAlikeAreOneOperator) {
  const Policy before = policy(R"({"device": "cpu", "operators": {"fp32": ["sum"]}})");
  const Policy after = policy(R"({"device": "cpu", "operators": {"promote": ["sum"]}})");
  EXPECT_THAT(difference_of(before, after).operators,
              ElementsAre(OperatorChange{{"aten::sum", ""}, CastPolicy::kFp32, CastPolicy::kPromote}));
}

TEST(DifferenceTest, OneOverloadIsNamed) {
  const Policy before = policy(R"({"device": "cpu", "operators": {"fp32": ["sum"]}})");
  const Policy after = policy(R"({"device": "cpu", "operators": {"fp32": ["sum"], "promote": ["sum.dim_IntList"]}})");
  EXPECT_THAT(difference_of(before, after).operators,
              ElementsAre(OperatorChange{{"aten::sum", "dim_IntList"}, CastPolicy::kFp32, CastPolicy::kPromote}));
}

TEST(DifferenceTest, OperatorsOfOthersAreComparedToo) {
  const Policy before = policy(R"({"device": "cpu", "operators": {"fp32": ["mine::norm"]}})");
  const Policy after = policy(R"({"device": "cpu", "operators": {"promote": ["mine::cat"]}})");
  EXPECT_THAT(difference_of(before, after).operators,
              ElementsAre(OperatorChange{{"mine::norm", ""}, CastPolicy::kFp32, CastPolicy::kPassthrough},
                          OperatorChange{{"mine::cat", ""}, CastPolicy::kPassthrough, CastPolicy::kPromote}));
}

std::vector<FunctionChange> function_changes(const std::string& before, const std::string& after) {
  const Functions functions(
      "PyTorch 2.13.0\n"
      "Tensor.exp exp.default\n"
      "Tensor.exp_ !exp_.default\n"
      "torch.einsum einsum.default>bmm.default einsum.default>mul.Tensor\n"
      "torch.nn.LSTM lstm.input>cat.default lstm.input>mkldnn_rnn_layer.default\n"
      "torch.nn.Softmin @torch.nn.functional.softmin neg.default softmax.int\n"
      "torch.nn.functional.softmin neg.default softmax.int\n");
  return difference_of(policy(before), policy(after), Operators::of_pytorch(), functions).functions;
}

TEST(DifferenceTest, FunctionsOfPythonEndInWhatChanges) {
  EXPECT_THAT(function_changes(R"({"device": "cpu", "operators": {"fp32": ["exp"], "lower_precision_fp": ["bmm"]}})",
                               R"({"device": "cpu", "operators": {"lower_precision_fp": ["exp"]}})"),
              ElementsAre(FunctionChange{"Tensor.exp", "fp32", "lower_precision_fp"},
                          FunctionChange{"torch.einsum", "lower_precision_fp, passthrough", "passthrough"}));
}

TEST(DifferenceTest, AFunctionIsDecidedAsAWhole) {
  EXPECT_THAT(function_changes(R"({"device": "cpu", "operators": {"fp32": ["softmax"]}})",
                               R"({"device": "cpu", "operators": {"fp32": ["softmax"]},
                                   "functions": {"torch.nn.functional:softmin": "float"}})"),
              ElementsAre(FunctionChange{"torch.nn.Softmin", "fp32, passthrough", "float as a whole"},
                          FunctionChange{"torch.nn.functional.softmin", "fp32, passthrough", "float as a whole"}));
}

TEST(DifferenceTest, WaysThatAreDecidedTheOtherWayRound) {
  EXPECT_THAT(function_changes(R"({"device": "cpu", "operators": {"fp32": ["bmm"]}})",
                               R"({"device": "cpu", "operators": {"fp32": ["mul"]}})"),
              ElementsAre(FunctionChange{"torch.einsum", "einsum>bmm (fp32), einsum>mul.Tensor (passthrough)",
                                         "einsum>bmm (passthrough), einsum>mul.Tensor (fp32)"}));
}

// A way that only the CPU goes makes no difference between the policies.
TEST(DifferenceTest, AWayOfTheCpuAlone) {
  EXPECT_THAT(function_changes(R"({"device": "cpu", "operators": {"lower_precision_fp": ["mkldnn_rnn_layer"]}})",
                               R"({"device": "cuda"})"),
              IsEmpty());
}

TEST(DifferenceTest, TheSameInOtherWordsIsNoDifference) {
  const Policy all = policy(R"({"device": "cpu", "operators": {"fp32": ["conv1d"], "passthrough": ["relu"]}})");
  const Policy each = policy(R"({"device": "cpu", "operators": {"fp32": ["conv1d.default", "conv1d.padding"]}})");
  EXPECT_THAT(difference_of(all, each).operators, IsEmpty());
}

TEST(DifferenceTest, SettingsThatAreSaidOrNot) {
  const Policy before = policy(R"({"device": "cpu", "modules": {"a": "fp32"}, "cache": {"frozen": true}})");
  const Policy after =
      policy(R"({"device": "cuda", "dtype": "float16", "default_dtype": "bfloat16", "modules": {"a": "bfloat16"},
                                  "never_cast": {"torchvision::roi_align": ["rois"]}})");
  const auto settings = difference_of(before, after).settings;
  EXPECT_THAT(settings, Contains(SettingChange{"device", "cpu", "cuda"}));
  EXPECT_THAT(settings, Contains(SettingChange{"dtype", "not said", "float16"}));
  EXPECT_THAT(settings, Contains(SettingChange{"default_dtype", "not said", "bfloat16"}));
  EXPECT_THAT(settings, Contains(SettingChange{"module a", "fp32", "bfloat16"}));
  EXPECT_THAT(settings, Contains(SettingChange{"cache frozen", "true", "not said"}));
  EXPECT_THAT(settings, Contains(SettingChange{"never_cast torchvision::roi_align rois", "not said", "said"}));
}

}  // namespace
}  // namespace castscope::policy
