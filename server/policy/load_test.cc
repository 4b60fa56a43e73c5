#include "server/policy/load.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>

#include "server/policy/shipped.h"

namespace castscope::policy {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class LoadTest : public ::testing::Test {
 protected:
  LoadTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "castscope-policy-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~LoadTest() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) {
    std::filesystem::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }
  static Policy load(const std::string& name) {
    auto policy = policy::load(name);
    EXPECT_TRUE(policy.ok()) << policy.status().message();
    return policy.ok() ? *std::move(policy) : Policy();
  }
  static std::string complaint(const std::string& name) {
    const auto policy = policy::load(name);
    EXPECT_FALSE(policy.ok()) << name;
    return std::string(policy.status().message());
  }

  std::filesystem::path folder_;
};

TEST_F(LoadTest, EveryShippedPolicyIsUnderstood) {
  EXPECT_THAT(shipped_names(), Contains("torch-cpu"));
  for (const std::string_view name : shipped_names()) EXPECT_FALSE(load(std::string(name)).operators.empty()) << name;
}

TEST_F(LoadTest, WhatAPolicySaysItselfStandsAbove) {
  const Policy mine = load(write("mine.json", R"({"extends": "torch-cuda", "dtype": "bfloat16",
      "operators": {"passthrough": ["linear"], "promote": ["sum"], "fp32": ["norm.Scalar"]},
      "cache": {"keep": "step"}})"));
  EXPECT_EQ(mine.device, "cuda");
  EXPECT_EQ(mine.operators.at({"aten::linear", ""}).policy, CastPolicy::kPassthrough);
  EXPECT_EQ(mine.operators.at({"aten::sum", ""}).policy, CastPolicy::kPromote);
  EXPECT_FALSE(mine.operators.contains({"aten::sum", "dim_IntList"}));  // all overloads are meant
  EXPECT_EQ(mine.operators.at({"aten::norm", "Scalar"}).policy, CastPolicy::kFp32);
  EXPECT_EQ(mine.operators.at({"aten::norm", "ScalarOpt_dim"}).policy, CastPolicy::kFp32AppendDtype);
  EXPECT_EQ(mine.cache.keep, Keep::kStep);
  EXPECT_EQ(mine.files.size(), 2u);
}

TEST_F(LoadTest, FilesAreNamedFromTheirOwnFolderOn) {
  write("base/low.json", R"({"device": "cpu", "operators": {"fp32": ["exp"]}, "modules": {"a": "fp32", "b": "fp32"}})");
  write("base/mid.json", R"({"extends": "low.json", "modules": {"a": "float16"}})");
  const Policy top = load(write("top.json", R"({"extends": "base/mid.json"})"));
  EXPECT_EQ(top.operators.at({"aten::exp", ""}).policy, CastPolicy::kFp32);
  std::vector<std::string> patterns;
  for (const ModuleRule& rule : top.modules) patterns.push_back(rule.pattern);
  EXPECT_THAT(patterns, ElementsAre("a", "b", "a"));  // the last one that matches is meant
}

TEST_F(LoadTest, ACircleIsTold) {
  write("a.json", R"({"extends": "b.json"})");
  write("b.json", "{\n  \"extends\": \"a.json\"}");
  const std::string told = complaint((folder_ / "a.json").string());
  EXPECT_THAT(told, HasSubstr("b.json:2:3: policies extend each other in a circle: "));
  EXPECT_THAT(told, HasSubstr("a.json → "));
  EXPECT_THAT(complaint(write("c.json", R"({"device": "cpu", "modules": {"x": "c.json"}})")), HasSubstr("circle"));
}

TEST_F(LoadTest, WhatIsNotThereIsTold) {
  EXPECT_THAT(complaint("torch-cuba"), HasSubstr("did you mean \"torch-cuda\"?"));
  EXPECT_THAT(complaint((folder_ / "none.json").string()), HasSubstr("none.json cannot be read: No such file"));
  EXPECT_THAT(complaint(write("d.json", "{\"extends\": \"torch-cpuu\"}")),
              HasSubstr("d.json:1:2: no policy \"torch-cpuu\""));
  EXPECT_THAT(complaint(folder_.string() + "/"), HasSubstr("cannot be read: it is not an ordinary file"));
}

TEST_F(LoadTest, ASchemaIsToldFromAPolicyThatNamesOne) {
  EXPECT_TRUE(is_json_schema(write("s.json", R"({"$schema": "https://json-schema.org/draft/2020-12/schema"})")));
  EXPECT_FALSE(is_json_schema(write("p.json", R"({"$schema": "policy.schema.json", "device": "cpu"})")));
  EXPECT_FALSE(is_json_schema(write("q.json", "{")));
  EXPECT_FALSE(is_json_schema("torch-cpu"));
}

TEST_F(LoadTest, TwoThatDisagreeNeedAWord) {
  write("x.json", R"({"device": "cpu", "operators": {"fp32": ["exp"]}})");
  write("y.json", R"({"device": "cpu", "operators": {"promote": ["exp"]}})");
  EXPECT_THAT(complaint(write("z.json", R"({"extends": ["x.json", "y.json"]})")), HasSubstr("disagree on \"exp\""));
  const Policy decided =
      load(write("z.json", R"({"extends": ["x.json", "y.json"], "operators": {"passthrough": ["exp"]}})"));
  EXPECT_EQ(decided.operators.at({"aten::exp", ""}).policy, CastPolicy::kPassthrough);
}

TEST_F(LoadTest, TwoDevicesNeedAWord) {
  EXPECT_THAT(complaint(write("two.json", R"({"extends": ["torch-xpu", "torch-mps"]})")),
              HasSubstr("say which \"device\""));
}

}  // namespace
}  // namespace castscope::policy
