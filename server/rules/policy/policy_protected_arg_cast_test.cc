#include "server/rules/testing/rules_test.h"

namespace castscope::rules::policy_protected_arg_cast {
namespace {

class PolicyProtectedArgCastTest : public RulesTest {
 protected:
  // boxes @ matrix at line 8; the largest coordinate of the boxes is `most`.
  static std::uint32_t product(TestRun& run, double most, std::uint32_t integers = 0) {
    const auto use = run.use({.op = "aten::matmul",
                              .line = 8,
                              .operands = {operand(kFloat32, Role::kInput), operand(kFloat32, Role::kInput)},
                              .computed = kBFloat16,
                              .flags = lanes::kUseEligible});
    store::SiteInfo info;
    info.stack = run.line("train.py", 8);
    info.call_site = run.call_site("aten::matmul", 0, "self");
    info.region = 1;
    info.role = Role::kInput;
    info.cause = lanes::Cause::kAutocast;
    info.why = WhyNotCached::kNoRequiresGrad;
    info.from = kFloat32;
    info.to = kBFloat16;
    const auto site = run.site(info);
    run.cast(site, kOther).values(site, {.most = most, .sampled = 16, .integers = integers});
    return use;
  }
  static std::uint32_t pooling(TestRun& run, std::uint8_t given) {
    return run.use({.op = "example::roi_pool",
                    .line = 9,
                    .operands = {operand(kFloat32), operand(given, Role::kActivation, lanes::kOperandBoxes)},
                    .computed = kFloat32});
  }
};

TEST_F(PolicyProtectedArgCastTest, BoxesThroughAProduct) {
  expect_golden("policy_protected_arg_cast_boxes_through_product", judged([](TestRun& run) {
                  const auto region = run.region("train.py", 5);
                  run.enter(region).deep();
                  const auto scaled = product(run, 513.9), pooled = pooling(run, kBFloat16);
                  run.called(scaled).called(pooled).flowed(run.flow(scaled, pooled, 1)).shallow().exit();
                }));
}

TEST_F(PolicyProtectedArgCastTest, ConvertedBackInBetween) {
  const auto findings = judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    run.enter(region).deep();
    const auto scaled = product(run, 513.9);
    const auto up = run.use({.op = "aten::to.dtype",
                             .line = 8,
                             .operands = {operand(kBFloat16)},
                             .computed = kFloat32,
                             .flags = lanes::kUseConverts});
    const auto pooled = pooling(run, kFloat32);
    run.called(scaled).called(up).called(pooled).flowed(run.flow(scaled, up)).flowed(run.flow(up, pooled, 1));
    run.shallow().exit();
  });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].location->line, 8);
}

TEST_F(PolicyProtectedArgCastTest, GivenToTheOperatorAsTheyAre) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    run.enter(region).deep();
    const auto pooled = pooling(run, kFloat32);
    run.called(product(run, 513.9)).called(pooled).shallow().exit();
  }));
}

TEST_F(PolicyProtectedArgCastTest, NormalisedOrWholeNumbers) {
  for (const auto& [most, integers] : {std::pair{1.0, 0u}, std::pair{513.0, 16u}}) {
    expect_none_of("policy-protected-arg-cast", judged([&](TestRun& run) {
                     const auto region = run.region("train.py", 5);
                     run.enter(region).deep();
                     const auto scaled = product(run, most, integers), pooled = pooling(run, kBFloat16);
                     run.called(scaled).called(pooled).flowed(run.flow(scaled, pooled, 1)).shallow().exit();
                   }));
  }
}

TEST_F(PolicyProtectedArgCastTest, OffsetsInLowPrecisionAddedToBoxes) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    run.enter(region).deep();
    const auto offsets = product(run, 513.9);
    const auto decoded = run.use({.op = "aten::add.Tensor",
                                  .line = 8,
                                  .operands = {operand(kBFloat16), operand(kFloat32)},
                                  .computed = kFloat32});
    const auto pooled = pooling(run, kFloat32);
    run.called(offsets).called(decoded).called(pooled).flowed(run.flow(offsets, decoded));
    run.flowed(run.flow(decoded, pooled, 1)).shallow().exit();
  }));
}

}  // namespace
}  // namespace castscope::rules::policy_protected_arg_cast
