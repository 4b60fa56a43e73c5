#include "server/report/policy/from_run.h"

#include <gmock/gmock.h>

#include "server/policy/difference.h"
#include "server/policy/load.h"
#include "server/policy/policy_file.h"
#include "server/store/run/names.h"

namespace castscope::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::uint8_t kCpu = 0, kCuda = 1, kFloat = 6, kBrain = 15;

class PolicyFromRunTest : public ::testing::Test {
 protected:
  PolicyFromRunTest() { run_.processes.emplace_back().id = store::ProcessId(1); }

  void cast(const char* op, std::uint8_t from, std::uint8_t to, std::uint8_t device = kCpu) {
    store::Site& site = add(op, device);
    site.from = from;
    site.to = to;
    run_.site_uses.push_back({.process = store::ProcessId(1), .site = site.id, .counts = {.casts = 2}, .evidence = {}});
  }
  void pass(const char* op, std::uint8_t device = kCpu) {
    store::Site& site = add(op, device);
    site.flags = lanes::kSitePassThrough | lanes::kSiteNoCast;
    run_.site_uses.push_back(
        {.process = store::ProcessId(1), .site = site.id, .counts = {.passes = 3}, .evidence = {}});
  }
  void by_default(std::uint8_t dtype, std::uint8_t device = kCpu) {
    store::Region& region = run_.regions.emplace_back();
    region.id = run_.regions.last();
    region.enabled = true;
    region.dtype = dtype;
    region.device = device;
    region.flags = lanes::kRegionDefaultDtype;
  }
  std::string followed(const std::string& device = "") {
    const auto policy = policy_followed(run_, device, "train");
    return policy.ok() ? *policy : std::string(policy.status().message());
  }
  // Returns the operators that differ from PyTorch's own policy.
  std::vector<policy::OperatorChange> changes(const std::string& text) {
    const auto file = policy::parse_policy(text, "seen.json", policy::Operators::of_pytorch());
    EXPECT_TRUE(file.ok()) << file.status().message() << text;
    auto usual = policy::load("torch-cpu");
    policy::Policy seen = *usual;
    for (const auto& [op, rule] : file->policy.operators) seen.operators[op] = rule;
    return policy::difference_of(*usual, seen).operators;
  }

 private:
  store::Site& add(const char* op, std::uint8_t device) {
    store::Site& site = run_.sites.emplace_back();
    site.id = run_.sites.last();
    site.op = op;
    site.cause = lanes::Cause::kAutocast;
    site.device = device;
    return site;
  }
  store::RunData run_;
};

TEST_F(PolicyFromRunTest, WhatPyTorchDoesIsNoDifference) {
  cast("aten::linear", kFloat, kBrain);
  cast("aten::mse_loss", kBrain, kFloat);
  cast("aten::cat", kBrain, kFloat);
  pass("aten::linear");
  pass("aten::conv1d.padding");
  const std::string text = followed();
  EXPECT_THAT(text, HasSubstr("on cpu in train: 4 operators"));
  EXPECT_THAT(text, HasSubstr("\"lower_precision_fp\": [\n      \"conv1d\",\n      \"linear\"\n    ]"));
  EXPECT_TRUE(changes(text).empty());
}

TEST_F(PolicyFromRunTest, WhatWasSeenStandsAboveTheList) {
  cast("aten::cat", kFloat, kBrain);
  cast("mine::attention", kFloat, kBrain);
  cast("mine::norm", kBrain, kFloat);
  pass("mine::rope");
  const std::string text = followed();
  const auto changed = changes(text);
  ASSERT_EQ(changed.size(), 3u) << text;  // rope passes through, as what nobody names does
  EXPECT_EQ(changed[0].after, policy::CastPolicy::kLowerPrecision);
}

TEST_F(PolicyFromRunTest, AKernelThatCastsBothWaysIsTold) {
  cast("mine::mixed", kFloat, kBrain);
  cast("mine::mixed", kBrain, kFloat);
  EXPECT_THAT(followed(), HasSubstr("// mine::mixed was cast both up and down"));
}

TEST_F(PolicyFromRunTest, TheDtypeOfRegionsThatNamedNone) {
  cast("aten::linear", kFloat, kBrain);
  by_default(kBrain);
  EXPECT_THAT(followed(), Not(HasSubstr("default_dtype")));  // PyTorch's own
  by_default(5);
  EXPECT_THAT(followed(), HasSubstr("// Regions that named no dtype ran in several dtypes"));
}

TEST_F(PolicyFromRunTest, ADefaultThatIsNotPyTorchs) {
  cast("aten::linear", kFloat, kBrain, kCuda);
  by_default(kBrain, kCuda);
  EXPECT_THAT(followed(), HasSubstr("\"default_dtype\": \"bfloat16\""));
}

TEST_F(PolicyFromRunTest, OneDeviceAtATime) {
  EXPECT_THAT(followed(), HasSubstr("the run shows no policy"));
  cast("aten::linear", kFloat, kBrain);
  EXPECT_THAT(followed("cuda"), HasSubstr("on cuda (on cpu, there were some)"));
  cast("aten::linear", kFloat, kBrain, kCuda);
  EXPECT_THAT(followed(), HasSubstr("name it with --device"));
  EXPECT_THAT(followed("cuda"), HasSubstr("\"extends\": \"torch-cuda\""));
}

}  // namespace
}  // namespace castscope::report
