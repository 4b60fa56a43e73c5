#include "server/policy/decide.h"

#include <gmock/gmock.h>

#include "server/policy/load.h"
#include "server/policy/testing/policies.h"

namespace castscope::policy {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Policy named_policy(const std::string& text) {
  Policy parsed = policy(text);
  parsed.name = "p.json";
  return parsed;
}

CastPolicy of(const Policy& policy, const char* op, const std::string& path = "", const std::string& type = "") {
  return decide(policy, operator_name(op), modules_of(path, type)).policy;
}

const char* const kHead = R"({"device": "cpu",
  "operators": {"lower_precision_fp": ["linear"], "fp32": ["sum"], "promote": ["sum.dim_IntList"], "banned": {"bmm": "no"}},
  "modules": {"head": "fp32", "head\\.out": "passthrough", "torch.nn.LayerNorm": "fp32", "tail": "float16"}})";

TEST(DecideTest, AnOverloadStandsAboveAllOfThem) {
  const Policy p = named_policy(kHead);
  EXPECT_EQ(of(p, "sum.dim_IntList"), CastPolicy::kPromote);
  EXPECT_EQ(of(p, "sum.default"), CastPolicy::kFp32);
}

TEST(DecideTest, WhatNobodyNamesIsLeftAlone) {
  const Decision decision = decide(named_policy(kHead), operator_name("relu.default"));
  EXPECT_EQ(decision.policy, CastPolicy::kPassthrough);
  EXPECT_EQ(decision.because[0].rule, "no rule of p.json names it");
}

TEST(DecideTest, TheInnermostModuleWithARuleDecides) {
  const Policy p = named_policy(kHead);
  EXPECT_EQ(of(p, "linear.default", "body.fc"), CastPolicy::kLowerPrecision);
  EXPECT_EQ(of(p, "linear.default", "head.fc"), CastPolicy::kFp32);  // "head" covers the modules in it
  EXPECT_EQ(of(p, "linear.default", "head.out"), CastPolicy::kPassthrough);
  EXPECT_EQ(of(p, "linear.default", "head.out.proj"), CastPolicy::kPassthrough);
  EXPECT_EQ(of(p, "linear.default", "overhead"), CastPolicy::kLowerPrecision);  // the whole path must match
}

TEST(DecideTest, AModuleByItsClass) {
  const Policy p = named_policy(kHead);
  EXPECT_EQ(of(p, "layer_norm.default", "body.norm", "torch.nn.LayerNorm"), CastPolicy::kFp32);
  EXPECT_EQ(of(p, "layer_norm.default", "body.norm"), CastPolicy::kPassthrough);
  EXPECT_EQ(of(p, "view.default", "body.norm", "torch.nn.LayerNorm"), CastPolicy::kPassthrough);  // nothing to compute
}

TEST(DecideTest, AModulesDtypeIsThatOfTheLowerPrecision) {
  const Decision decision = decide(named_policy(kHead), operator_name("linear.default"), modules_of("tail", ""));
  EXPECT_EQ(decision.policy, CastPolicy::kLowerPrecision);
  EXPECT_EQ(decision.dtype, Dtype::kFloat16);
}

TEST(DecideTest, NoPatternTakesLong) {
  const Policy p = named_policy(R"({"device": "cpu", "operators": {"fp32": ["linear"]},
                              "modules": {"([a-z0-9.]*)*X": "passthrough", "(a|b|ab)+": "passthrough"}})");
  EXPECT_EQ(of(p, "linear.default", std::string(100'000, 'a') + "c"), CastPolicy::kFp32);
}

TEST(DecideTest, TheLastRuleOfAModuleIsMeant) {
  const Policy p = named_policy(R"({"device": "cpu", "operators": {"fp32": ["linear"]},
                              "modules": {"z": "passthrough", "[a-z]": "fp32", "y": "passthrough"}})");
  EXPECT_EQ(of(p, "linear.default", "z"), CastPolicy::kFp32);
  EXPECT_EQ(of(p, "linear.default", "y"), CastPolicy::kPassthrough);
}

TEST(DecideTest, TheReasonsAreToldTheDecidingOneFirst) {
  const Decision decision = decide(named_policy(kHead), operator_name("linear.default"), modules_of("head", ""));
  ASSERT_EQ(decision.because.size(), 2u);
  EXPECT_EQ(decision.because[0].rule, "modules \"head\" → fp32");
  EXPECT_EQ(decision.because[0].place, "p.json:3:15");
  EXPECT_EQ(decision.because[1].rule, "operators lower_precision_fp \"linear\"");
}

TEST(DecideTest, AnArgumentsRuleStandsAboveAll) {
  const Policy p = named_policy(R"({"device": "cuda", "operators": {"fp32": ["torchvision::roi_align"]},
                              "never_cast": {"torchvision::roi_align": ["rois"]}, "modules": {".*": "fp32"}})");
  const Decision decision = decide(p, operator_name("torchvision::roi_align.default"), modules_of("pool", ""));
  EXPECT_THAT(decision.never_cast, ElementsAre("rois"));
  EXPECT_THAT(decision.exceptions[0].rule, HasSubstr("never_cast \"rois\" of \"torchvision::roi_align\""));
}

TEST(DecideTest, ABannedOperatorSaysWhy) {
  EXPECT_EQ(decide(named_policy(kHead), operator_name("bmm.default")).message, "no");
  EXPECT_EQ(of(named_policy(kHead), "bmm.default", "head"), CastPolicy::kFp32);  // in float32 it is as safe as any
}

TEST(DecideTest, AModuleByAnotherPolicy) {
  Policy p = named_policy(kHead);
  p.modules.push_back({"other", {.kind = Precision::Kind::kPolicy, .policy = "torch-cuda"}, "p.json:9:9"});
  const auto cuda = load("torch-cuda");
  ASSERT_TRUE(cuda.ok());
  p.modules.back().precision.by = std::make_shared<const Policy>(*cuda);
  EXPECT_EQ(of(p, "sum.default", "other"), CastPolicy::kFp32SetOptDtype);
  EXPECT_EQ(of(p, "sum.default"), CastPolicy::kFp32);
}

}  // namespace
}  // namespace castscope::policy
