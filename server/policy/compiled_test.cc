#include "server/policy/compiled.h"

#include <gmock/gmock.h>

#include "agent/enforce/decided/policy_table.h"
#include "server/policy/decide.h"
#include "server/policy/load.h"
#include "server/policy/shipped.h"
#include "server/policy/testing/policies.h"

namespace castscope::policy {
namespace {

enforce::PolicyTable read(const Policy& policy) {
  std::string error;
  auto table = enforce::read_policy_table(compiled(policy), &error);
  EXPECT_TRUE(table.has_value()) << error;
  return table ? *std::move(table) : enforce::PolicyTable();
}

TEST(CompiledTest, TheAgentDecidesAsThePolicyDoes) {
  for (const std::string_view name : shipped_names()) {
    const auto policy = load(std::string(name));
    ASSERT_TRUE(policy.ok()) << policy.status().message();
    const enforce::PolicyTable table = read(*policy);
    EXPECT_EQ(table.device, policy->device);
    for (const auto& [op, rule] : policy->operators) {
      for (const std::string& overload : Operators::of_pytorch().overloads(op.name)) {
        const auto* const found = table.tables[0].find(op.name, overload);
        const CastPolicy decided = decide(*policy, {op.name, overload}).policy;
        EXPECT_EQ(found == nullptr ? static_cast<int>(CastPolicy::kPassthrough) : static_cast<int>(found->policy),
                  static_cast<int>(decided))
            << name << " " << op.name << "." << overload;
      }
    }
  }
}

TEST(CompiledTest, NamesOfTheTwoSidesAreInOneOrder) {
  EXPECT_EQ(static_cast<int>(CastPolicy::kPassthrough), static_cast<int>(enforce::CastPolicy::kPassthrough));
  EXPECT_EQ(static_cast<int>(Dtype::kFloat16), static_cast<int>(enforce::LowerDtype::kFloat16));
  EXPECT_EQ(static_cast<int>(Keep::kUntilWritten), static_cast<int>(enforce::Keep::kUntilWritten));
}

TEST(CompiledTest, ModulesFunctionsAndCache) {
  Policy p = policy(R"({"device": "cpu", "operators": {"banned": {"bmm": "a\tb\nc\\d"}},
      "never_cast": {"torchvision::roi_align": ["rois"]}, "modules": {"h\\..*": "fp32", "g": "bfloat16"},
      "functions": {"a:b": "float"}, "cache": {"frozen": true, "keep": "until_written", "max_bytes": 5}})");
  const enforce::PolicyTable table = read(p);
  EXPECT_EQ(table.tables[0].find("aten::bmm", "default")->message, "a\tb\nc\\d");
  EXPECT_EQ(table.modules[0].pattern, "h\\..*");
  EXPECT_EQ(table.modules[1].dtype, enforce::LowerDtype::kBFloat16);
  EXPECT_EQ(table.known.size(), on_pytorchs_lists().size());
  EXPECT_EQ(table.cache_keep, enforce::Keep::kUntilWritten);
  EXPECT_EQ(table.cache_max_bytes, 5u);
  EXPECT_EQ(table.functions.size(), 1u);
}

TEST(CompiledTest, WhatIsRestoredDecidesAlike) {
  Policy p = policy(R"({"device": "cuda", "dtype": "bfloat16", "operators": {"fp32": ["sum"], "banned": {"bmm": "no"}},
      "never_cast": {"torchvision::roi_align": ["rois"]}, "modules": {"h": "fp32", "g": "float16", "k": "passthrough"},
      "functions": {"a:b": "promote"}, "cache": {"views": false, "keep": "region"}})");
  p.modules.push_back({"t", {}, ""});
  p.modules.back().precision.kind = Precision::Kind::kPolicy;
  p.modules.back().precision.by = std::make_shared<const Policy>(*load("torch-cuda"));
  const auto again = restored(compiled(p));
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(compiled(*again), compiled(p));
  EXPECT_EQ(decide(*again, {"aten::softmax", "int"}, modules_of("t", "")).policy, CastPolicy::kFp32SetOptDtype);
  EXPECT_FALSE(restored("castscope-policy 3\n").ok());
}

TEST(CompiledTest, TheDtypeOfRegionsThatNameNone) {
  const Policy p = policy(R"({"device": "xpu", "default_dtype": "bfloat16", "operators": {"fp32": ["sum"]}})");
  EXPECT_EQ(read(p).default_dtype, enforce::LowerDtype::kBFloat16);
  EXPECT_EQ(restored(compiled(p))->default_dtype, Dtype::kBFloat16);
  Policy silent = p;
  silent.default_dtype.reset();
  EXPECT_EQ(read(silent).default_dtype, std::nullopt);
  EXPECT_NE(read(silent).hash, read(p).hash);
}

TEST(CompiledTest, TheHashIsThatOfWhatItDecides) {
  const Policy a = policy(R"({"device": "cpu", "operators": {"fp32": ["bmm"]}})");
  const Policy same = policy("{// other words\n\"operators\": {\"fp32\": [\"aten::bmm\"]}, \"device\": \"cpu\"}");
  const Policy other = policy(R"({"device": "cpu", "operators": {"promote": ["bmm"]}})");
  EXPECT_EQ(read(a).hash, read(same).hash);
  EXPECT_NE(read(a).hash, read(other).hash);
}

}  // namespace
}  // namespace castscope::policy
