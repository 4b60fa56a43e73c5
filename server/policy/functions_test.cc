#include "server/policy/functions.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "server/policy/elsewhere.h"
#include "server/policy/load.h"
#include "server/policy/testing/policies.h"

namespace castscope::policy {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

std::vector<std::string> names(const std::vector<const Function*>& functions) {
  std::vector<std::string> all;
  for (const Function* function : functions) all.push_back(function->name);
  return all;
}

const char* const kText =
    "PyTorch 2.13.0\n"
    "Tensor.norm linalg_vector_norm.default\n"
    "Tensor.norm_ !norm_.default\n"
    "torch.einsum einsum.default>bmm.default einsum.default>mul.Tensor\n"
    "torch.nn.functional.normalize linalg_vector_norm.default div.Tensor\n"
    "torch.norm linalg_vector_norm.default\n"
    "torch.norm(out=) !linalg_vector_norm.out\n"
    "torch.nn.LSTM lstm.input>cat.default lstm.input>mkldnn_rnn_layer.default\n"
    "torch.nn.Softmin @torch.nn.functional.softmin neg.default softmax.int\n";

TEST(FunctionsTest, ClassesByTheNamesThatCodeHasForThem) {
  const Functions functions(kText);
  for (const char* name : {"LSTM", "nn.LSTM", "torch.nn.LSTM", "torch.nn.modules.rnn.LSTM"})
    EXPECT_THAT(names(functions.named(name)), ElementsAre("torch.nn.LSTM")) << name;
  EXPECT_THAT(names(functions.named("nn.functional.normalize")), ElementsAre("torch.nn.functional.normalize"));
  EXPECT_THAT(functions.named("nn.lstm"), IsEmpty());
  EXPECT_THAT(functions.below({"aten::lstm", "input"}), IsEmpty()) << "what a layer ends in is the CPU's";
}

// cross_entropy calls log_softmax in this way: a rule that sets a dtype where none is given has nothing to do.
TEST(FunctionsTest, AFunctionThatGivesADtypeItself) {
  const Functions functions("PyTorch 2.13.0\ntorch.ce ce_loss.default>log_softmax.int=dtype>_log_softmax.default\n");
  const Function& ce = *functions.named("ce")[0];
  EXPECT_EQ(ce.ways[0][1].op, (OperatorName{"aten::log_softmax", "int"}));
  const auto decided = [&](const std::string& kind) {
    return decide(policy(R"({"device": "cpu", "operators": {")" + kind + R"(": ["log_softmax.int"]}})"), ce)[0];
  };
  EXPECT_EQ(decided("fp32_set_opt_dtype").decision.policy, CastPolicy::kPassthrough);
  EXPECT_EQ(decided("fp32").decision.policy, CastPolicy::kFp32);
}

TEST(FunctionsTest, WhatOnlyTheCpuHasIsNoWayOfAnotherDevice) {
  const Functions functions(kText);
  EXPECT_EQ(decide(policy(R"({"device": "cpu"})"), *functions.named("LSTM")[0]).size(), 2u);
  EXPECT_EQ(decide(policy(R"({"device": "cuda"})"), *functions.named("LSTM")[0]).size(), 1u);
  EXPECT_EQ(
      decide(policy(R"({"device": "cuda", "operators": {"fp32": ["lstm"]}})"), *functions.named("LSTM")[0]).size(), 2u);
}

TEST(FunctionsTest, ARuleForAFunctionHoldsInTheClassThatCallsIt) {
  const Functions functions(kText);
  const Function& softmin = *functions.named("Softmin")[0];
  for (const char* rule : {"torch.nn.functional:softmin", "torch.nn:Softmin", "torch.nn.modules.activation:Softmin"}) {
    const Policy p = policy(std::string(R"({"device": "cpu", "functions": {")") + rule + R"(": "float"}})");
    EXPECT_NE(rule_of(p, softmin), nullptr) << rule;
  }
  EXPECT_EQ(rule_of(policy(R"({"device": "cpu", "functions": {"torch.nn:LSTM": "float"}})"), softmin), nullptr);
}

TEST(FunctionsTest, ByTheirNames) {
  const Functions functions(kText);
  EXPECT_THAT(names(functions.named("norm")),
              ElementsAre("Tensor.norm", "Tensor.norm_", "torch.norm", "torch.norm(out=)"));
  EXPECT_THAT(names(functions.named("torch.norm")), ElementsAre("torch.norm", "torch.norm(out=)"));
  EXPECT_THAT(names(functions.named("F.normalize")), ElementsAre("torch.nn.functional.normalize"));
  EXPECT_THAT(functions.named("torch.linalg.norm"), IsEmpty());
}

TEST(FunctionsTest, ByWhatTheyCall) {
  const Functions functions(kText);
  EXPECT_THAT(names(functions.through({"aten::linalg_vector_norm", "default"})),
              ElementsAre("Tensor.norm", "torch.nn.functional.normalize", "torch.norm"));
  EXPECT_THAT(functions.through({"aten::norm", ""}), IsEmpty());
  ASSERT_EQ(functions.below({"aten::einsum", "default"}).size(), 2u);
  EXPECT_EQ(functions.below({"aten::einsum", "default"})[0][0].op.name, "aten::bmm");
  EXPECT_THAT(functions.below({"aten::bmm", "default"}), IsEmpty());
}

TEST(FunctionsTest, TheFirstOperatorOfAWayThatAPolicySpeaksOfDecides) {
  const Functions functions(kText);
  const Policy p = policy(R"({"device": "cpu", "operators": {"fp32": ["einsum"], "lower_precision_fp": ["bmm"]}})");
  const std::vector<WayDecision> decided = decide(p, *functions.named("einsum")[0]);
  ASSERT_EQ(decided.size(), 2u);
  EXPECT_EQ(decided[0].by->op.name, "aten::einsum");
  EXPECT_EQ(decided[0].decision.policy, CastPolicy::kFp32);

  const Policy q = policy(R"({"device": "cpu", "operators": {"lower_precision_fp": ["bmm"]}})");
  const std::vector<WayDecision> otherwise = decide(q, *functions.named("einsum")[0]);
  EXPECT_EQ(otherwise[0].by->op.name, "aten::bmm");
  EXPECT_EQ(otherwise[1].by, nullptr);
  EXPECT_TRUE(otherwise[1].reached());
}

TEST(FunctionsTest, WhatWritesIsNotReached) {
  const Functions functions(kText);
  const Policy p = policy(R"({"device": "cpu", "operators": {"fp32": ["linalg_vector_norm"]}})");
  EXPECT_TRUE(decide(p, *functions.named("torch.norm")[0])[0].reached());
  EXPECT_FALSE(decide(p, *functions.named("torch.norm")[1])[0].reached());
}

TEST(FunctionsTest, ARuleForTheWholeFunction) {
  const Functions functions(kText);
  const Policy p = policy(R"({"device": "cpu", "functions": {"torch.nn.functional:normalize": "float"}})");
  ASSERT_NE(rule_of(p, *functions.named("normalize")[0]), nullptr);
  EXPECT_EQ(rule_of(p, *functions.named("normalize")[0])->cast, FunctionCast::kFloat);
  EXPECT_EQ(rule_of(p, *functions.named("torch.norm")[0]), nullptr);
}

TEST(FunctionsTest, OfThePyTorchThatIsKnown) {
  const Functions& functions = Functions::of_pytorch();
  EXPECT_THAT(names(functions.named("norm")), Contains("torch.norm"));
  EXPECT_THAT(names(functions.through({"aten::linalg_vector_norm", ""})), Contains("Tensor.norm"));
  EXPECT_THAT(names(functions.through({"aten::norm", ""})), Not(Contains("torch.norm")));
}

// Reduces a cast policy to the precision that it makes an operator compute in: lower precision, float32, the widest
// dtype, an error, or unchanged.
CastPolicy computed_in(CastPolicy policy) {
  const bool full = policy == CastPolicy::kFp32SetOptDtype || policy == CastPolicy::kFp32AppendDtype;
  return full ? CastPolicy::kFp32 : policy;
}

bool is_front_door(const std::string& function, const std::string& op) {
  return function == "torch." + op || function == "Tensor." + op || function == "torch.nn.functional." + op;
}

// The claim does not cover these: the padding of padding="same" moves values, the division of reduction="batchmean"
// takes what kl_div gave, and pooling that returns indices is another operator, which is on no list of PyTorch's.
bool is_apart(const std::string& function, const std::string& op) {
  return op == "constant_pad_nd.default" || op == "max_pool3d_with_indices.default" ||
         (op == "div.Tensor" && function.ends_with("kl_div"));
}

// "torch.norm by linalg_vector_norm: passthrough, norm is fp32"
std::vector<std::string> false_claims(const Policy& policy) {
  std::vector<std::string> all;
  for (const auto& [op, rule] : policy.operators) {
    const std::string name = shown({op.name, ""});
    for (const Function* function : Functions::of_pytorch().named(name)) {
      if (!is_front_door(function->name, name) || rule_of(policy, *function) != nullptr) continue;
      for (const WayDecision& decided : decide(policy, *function)) {
        if (is_apart(function->name, shown(decided.way->back().op))) continue;
        if (!decided.reached() || computed_in(decided.decision.policy) == computed_in(rule.policy)) continue;
        all.push_back(function->name + " by " + shown(decided.way->back().op) + ": " +
                      std::string(castscope::policy::name(decided.decision.policy)) + ", " + shown(op) + " is " +
                      std::string(castscope::policy::name(rule.policy)));
      }
    }
  }
  return all;
}

TEST(FunctionsTest, WhatAPolicySaysOfAnOperatorHoldsForTheFunctionsOfItsName) {
  for (const char* name : {"apex-o1", "ipex-xpu", "fp32-everything", "torch-cpu", "torch-cuda", "torch-xpu"})
    EXPECT_THAT(false_claims(*load(name)), IsEmpty()) << name;
}

TEST(FunctionsTest, WhatAnOperatorIsMadeOfDecidesElsewhere) {
  EXPECT_EQ(computes_on("cpu", operator_called("aten::einsum"), Given::kFloat32), Computed::kLow);
  EXPECT_THAT(elsewhere("cpu", operator_called("aten::einsum"), Given::kFloat32), IsEmpty());
  EXPECT_THAT(elsewhere("cpu", operator_called("aten::cross_entropy_loss"), Given::kLow), IsEmpty());
}

}  // namespace
}  // namespace castscope::policy
