#include <gmock/gmock.h>

#include "server/policy/compiled.h"
#include "server/policy/policy_file.h"
#include "server/rules/testing/rules_test.h"
#include "server/store/write/run_store.h"

namespace castscope::rules::op_banned {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

using OpBannedTest = RulesTest;

constexpr char kText[] =
    "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast.\n"
    "Many models use a sigmoid layer right before the binary cross entropy layer.";

TEST_F(OpBannedTest, BinaryCrossEntropyOnAGpu) {
  expect_golden("op_banned_binary_cross_entropy", judged([](TestRun& run) {
                  store::RegionInfo gpu = TestRun::default_region();
                  gpu.device = 1;
                  gpu.dtype = kFloat16;
                  run.region("train.py", 5, gpu);
                  run.seen(run.error(9, kText), 3);
                }));
}

TEST_F(OpBannedTest, WithLogits) {
  expect_none(judged([](TestRun& run) {
    run.region("train.py", 5);
    const auto use = run.use({.op = "aten::binary_cross_entropy_with_logits",
                              .line = 9,
                              .operands = {operand(kBFloat16), operand(kFloat32, Role::kInput)},
                              .computed = kFloat32,
                              .flags = lanes::kUseEligible});
    run.deep().called(use).shallow();
  }));
}

class BannedByPolicyTest : public RulesTest {
 protected:
  static policy::Policy parsed(const std::string& text) {
    auto parsed = policy::parse_policy(text, "ours.json", policy::Operators::of_pytorch());
    EXPECT_TRUE(parsed.ok()) << parsed.status().message();
    return parsed->policy;
  }
  // Returns the findings about this error under this policy.
  std::vector<Finding> findings_about(const policy::Policy& policy, const std::string& error) {
    const std::string path = (folder_ / "run.castscope").string();
    store::RunStart start;
    start.policy = policy::compiled(policy);
    auto store = store::RunStore::create(path, start, {.overwrite = true});
    EXPECT_TRUE(store.ok()) << store.status().message();
    TestRun run(**store);
    run.attribute("enforced_policy", "ours.json");
    run.region("train.py", 5);
    run.seen(run.error(9, error));
    run.end();
    return held(judge(*(*store)->read()));
  }
};

TEST_F(BannedByPolicyTest, ItsOwnMessage) {
  const policy::Policy bans = parsed(R"({"device": "cpu", "operators": {"banned": {"bmm": "use matmul"}}})");
  const auto found = findings_about(bans, "use matmul");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].rule, "op-banned");
  EXPECT_EQ(found[0].title, "bmm raised: the policy ours.json bans it in a region");
  EXPECT_THAT(found[0].fix, HasSubstr(R"("fp32": ["bmm"])"));
  expect_none(findings_about(bans, "use matmul, please"));
}

TEST_F(BannedByPolicyTest, InAModule) {
  policy::Policy policy = parsed(R"({"device": "cpu"})");
  policy.modules.push_back(
      {.pattern = "head",
       .precision = {.kind = policy::Precision::Kind::kPolicy,
                     .policy = "strict.json",
                     .by = std::make_shared<const policy::Policy>(parsed(
                         R"({"device": "cpu", "operators": {"banned": {"binary_cross_entropy": "not here"}}})"))},
       .place = ""});
  const auto found = findings_about(policy, "not here");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].fix, HasSubstr("binary_cross_entropy_with_logits"));
}

TEST_F(BannedByPolicyTest, WithoutAMessage) {
  const auto found = findings_about(parsed(R"({"device": "cpu", "operators": {"banned": ["bmm"]}})"),
                                    "aten::bmm is banned under autocast by the policy");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].title, "bmm raised: the policy ours.json bans it in a region");
}

// The policy runs it in float32 on the CPU; PyTorch's own ban raised, on a GPU.
TEST_F(BannedByPolicyTest, PyTorchsOwnBanIsToldAsThat) {
  const auto found =
      findings_about(parsed(R"({"device": "cpu", "operators": {"fp32": ["binary_cross_entropy"]}})"), kText);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].title, HasSubstr("autocast refuses it"));
  EXPECT_THAT(found[0].fix, Not(HasSubstr("policy")));
}

}  // namespace
}  // namespace castscope::rules::op_banned
