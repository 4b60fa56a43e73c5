#include <gmock/gmock.h>

#include "server/policy/compiled.h"
#include "server/policy/policy_file.h"
#include "server/rules/testing/rules_test.h"
#include "server/store/write/run_store.h"

namespace castscope::rules::policy_deviation {
namespace {

using ::testing::HasSubstr;

class PolicyDeviationTest : public RulesTest {
 protected:
  void hold_against(const std::string& text) {
    auto parsed = policy::parse_policy(text, "ours.json", policy::Operators::of_pytorch());
    ASSERT_TRUE(parsed.ok()) << parsed.status().message();
    parsed->policy.name = "ours.json";
    policy_ = std::make_shared<const policy::Policy>(parsed->policy);
  }
  // Returns the findings of policy-deviation alone about a process that does this.
  std::vector<Finding> deviations(const std::function<void(TestRun&)>& act) {
    const std::string path = (folder_ / "run.castscope").string();
    auto store = store::RunStore::create(path, {}, {.overwrite = true});
    EXPECT_TRUE(store.ok()) << store.status().message();
    TestRun run(**store);
    act(run);
    run.end();
    Settings settings;
    settings.select = {"policy-deviation"};
    settings.policy = policy_;
    auto findings = judge(*(*store)->read(), settings);
    EXPECT_TRUE((*store)->close().ok());
    return held(std::move(findings));
  }
  static void linear(TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto weight = run.weight("train.py", 8, "head.fc");
    run.enter(region).cast(weight, kWeight, true).hit(weight, kWeight).exit();
  }

  std::shared_ptr<const policy::Policy> policy_;
};

TEST_F(PolicyDeviationTest, WithoutAPolicyNothingDeviates) { EXPECT_TRUE(deviations(linear).empty()); }

TEST_F(PolicyDeviationTest, WhatThePolicySaysIsNoDeviation) {
  hold_against(R"({"device": "cpu", "operators": {"lower_precision_fp": ["linear"]}})");
  EXPECT_TRUE(deviations(linear).empty());
}

// Enters a region that names no dtype, where the default has this dtype.
void by_default(TestRun& run, std::uint8_t dtype) {
  auto info = TestRun::default_region();
  info.dtype = dtype;
  info.flags = lanes::kRegionDefaultDtype;
  run.enter(run.region("train.py", 5, info)).exit();
}

TEST_F(PolicyDeviationTest, ARegionThatNamesNoDtypeHasThePolicys) {
  hold_against(R"({"device": "cpu", "default_dtype": "float16", "operators": {"lower_precision_fp": ["linear"]}})");
  const auto found = deviations([](TestRun& run) { by_default(run, kBFloat16); });
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].location->line, 5);
  EXPECT_EQ(found[0].title,
            "this region names no dtype, and has PyTorch's default on cpu, bfloat16; ours.json says float16");
  EXPECT_TRUE(deviations([](TestRun& run) { by_default(run, kFloat16); }).empty());
  EXPECT_TRUE(deviations(linear).empty());  // named
}

TEST_F(PolicyDeviationTest, WithoutADefaultInThePolicyPyTorchsIsRight) {
  hold_against(R"({"device": "cpu", "operators": {}})");
  EXPECT_TRUE(deviations([](TestRun& run) { by_default(run, kBFloat16); }).empty());
}

TEST_F(PolicyDeviationTest, ACastThatThePolicyDoesNotMake) {
  hold_against(R"({"device": "cpu", "operators": {"passthrough": ["linear"]}})");
  const auto found = deviations(linear);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].location->line, 8);
  EXPECT_EQ(found[0].title, "linear casts to bfloat16 its weight; ours.json says passthrough");
  EXPECT_EQ(found[0].evidence_number[0].second, 2u);  // a cast, and a hit
}

TEST_F(PolicyDeviationTest, WhatABanSaysIsEvidence) {
  hold_against(R"({"device": "cpu", "operators": {"banned": {"linear": "use matmul"}}})");
  const auto found = deviations(linear);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].evidence_text.back(), std::pair(std::string("message"), std::string("use matmul")));
}

// On a GPU: cuDNN's RNNs in torch.nn.LSTM, nms and roi_align in torchvision's detection.
TEST_F(PolicyDeviationTest, AKernelOfAnOperatorsOwnIsLeftAloneUnlessThePolicyNamesIt) {
  const auto cast = [](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto scores = run.site({.stack = run.line("train.py", 8),
                                  .call_site = run.call_site("torchvision::nms", 1, "scores"),
                                  .region = region,
                                  .op = "torchvision::nms",
                                  .role = lanes::Role::kActivation,
                                  .cause = lanes::Cause::kAutocast,
                                  .phase = lanes::Phase::kForward,
                                  .from = kFloat16,
                                  .to = kFloat32});
    run.enter(region).cast(scores, kWeight, false).exit();
  };
  hold_against(R"({"device": "cpu", "operators": {"lower_precision_fp": ["linear"]}})");
  EXPECT_TRUE(deviations(cast).empty());
  hold_against(R"({"device": "cpu", "operators": {"passthrough": ["torchvision::nms"]}})");
  EXPECT_EQ(deviations(cast).size(), 1u);
  hold_against(R"({"device": "cpu", "operators": {}, "never_cast": {"torchvision::nms": ["scores"]}})");
  EXPECT_EQ(deviations(cast).size(), 1u);
}

TEST_F(PolicyDeviationTest, ACastToAnotherDtype) {
  hold_against(R"({"device": "cpu", "dtype": "float16", "operators": {"lower_precision_fp": ["linear"]}})");
  const auto found = deviations(linear);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].title, HasSubstr("ours.json says lower_precision_fp (float16)"));
}

TEST_F(PolicyDeviationTest, AnArgumentThatIsNeverCast) {
  hold_against(R"({"device": "cpu", "operators": {"lower_precision_fp": ["linear"]},
                   "never_cast": {"linear": ["weight"]}})");
  const auto found = deviations(linear);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].title, HasSubstr("never cast: weight"));
}

TEST_F(PolicyDeviationTest, TheModuleItRunsInDecides) {
  hold_against(R"({"device": "cpu", "operators": {"lower_precision_fp": ["linear"]}, "modules": {"head": "fp32"}})");
  const auto found = deviations(linear);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].evidence_text[3].second, "modules \"head\" → fp32");
  hold_against(R"({"device": "cpu", "operators": {"lower_precision_fp": ["linear"]}, "modules": {"body": "fp32"}})");
  EXPECT_TRUE(deviations(linear).empty());
}

TEST_F(PolicyDeviationTest, AnotherDevicesPolicySaysNothing) {
  hold_against(R"({"device": "cuda", "operators": {"passthrough": ["linear"]}})");
  EXPECT_TRUE(deviations(linear).empty());
}

TEST_F(PolicyDeviationTest, WhatComputesInLowPrecisionWhereThePolicyHasItInFloat32) {
  hold_against(R"({"device": "cpu", "operators": {"fp32": ["gelu"], "lower_precision_fp": ["linear"]}})");
  const auto found = deviations([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto gelu = run.use({.op = "aten::gelu", .line = 9, .operands = {operand(kBFloat16)}, .computed = kBFloat16});
    run.enter(region).deep().called(gelu).shallow().exit();
  });
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].title, "gelu computes in bfloat16; ours.json says fp32");
  EXPECT_TRUE(found[0].deep_only);
}

// PyTorch's autocast casts nothing for such operators, by design, and neither does a policy.
TEST_F(PolicyDeviationTest, WhatWritesToAnArgumentIsBeyondPolicies) {
  hold_against(R"({"device": "cpu", "operators": {"fp32": ["exp"]}})");
  const auto called = [&](const std::string& op, std::uint16_t flags) {
    return deviations([&](TestRun& run) {
             const auto region = run.region("train.py", 5);
             const auto use = run.use(
                 {.op = op, .line = 9, .operands = {operand(kBFloat16)}, .computed = kBFloat16, .flags = flags});
             run.enter(region).deep().called(use).shallow().exit();
           })
        .size();
  };
  EXPECT_EQ(called("aten::exp", 0), 1u);
  EXPECT_EQ(called("aten::exp.out", lanes::kUseWrites | lanes::kUseSiblingEligible), 0u);
  EXPECT_EQ(called("aten::exp_", lanes::kUseWrites | lanes::kUseSiblingEligible), 0u);
}

TEST_F(PolicyDeviationTest, InARegionOfAScriptTorchScriptsListsDecide) {
  hold_against(R"({"device": "cpu", "operators": {"fp32": ["relu"]}})");
  const auto in_region = [&](lanes::RegionKind kind) {
    return deviations([&](TestRun& run) {
             auto info = TestRun::default_region();
             info.kind = kind;
             const auto region = run.region("train.py", 5, info);
             const auto use = run.use({.op = "aten::relu",
                                       .line = 9,
                                       .operands = {operand(kBFloat16)},
                                       .computed = kBFloat16,
                                       .flags = lanes::kUseScript});
             run.enter(region).deep().called(use).shallow().exit();
           })
        .size();
  };
  EXPECT_EQ(in_region(lanes::RegionKind::kContext), 1u);
  EXPECT_EQ(in_region(lanes::RegionKind::kScript), 0u);
}

}  // namespace
}  // namespace castscope::rules::policy_deviation
