#include <algorithm>

#include "server/rules/testing/autograd_test.h"

namespace castscope::rules::region_contains_backward {
namespace {

using RegionContainsBackwardTest = AutogradTest;

std::uint32_t cast_in_backward(TestRun& run, std::uint32_t region) {
  return run.site({.stack = run.line("train.py", 8),
                   .region = region,
                   .op = "",
                   .role = Role::kActivation,
                   .cause = lanes::Cause::kAutocast,
                   .phase = lanes::Phase::kBackward,
                   .from = kFloat32,
                   .to = kBFloat16});
}

TEST_F(RegionContainsBackwardTest, BackwardInsideTheRegion) {
  expect_golden("region_contains_backward_in_region", judged([](TestRun& run) {
                  const auto region = run.region("train.py", 5);
                  const auto cast = cast_in_backward(run, region);
                  const auto call = run.fact(FactKind::kBackward, 12, {.subject = region, .text = ""});
                  for (int i = 0; i < 3; ++i) run.enter(region).backward(call).cast(cast, kOther).exit().optimizer();
                }));
}

// Product.backward multiplies a bfloat16 gradient with a float32 weight: outside of the region it would raise.
TEST_F(RegionContainsBackwardTest, AFunctionThatNeedsItsDecorators) {
  const auto findings = judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto product = forward_product(run);
    const auto backward = backward_product(run, 8, {.computed = kBFloat16, .outside = false});
    const auto call = run.fact(FactKind::kBackward, 12, {.subject = region, .text = ""});
    run.enter(region).deep().called(product).backward(call).called(backward).shallow().exit();
  });
  const auto found = std::ranges::find(findings, "region-contains-backward", &Finding::rule);
  ASSERT_NE(found, findings.end());
  EXPECT_TRUE(found->fix.starts_with("First decorate Product, ")) << found->fix;
}

TEST_F(RegionContainsBackwardTest, WithoutACastInIt) {
  const auto findings = judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    run.enter(region).backward(run.fact(FactKind::kBackward, 12, {.subject = region, .text = ""})).exit();
  });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].location->line, 12);
}

TEST_F(RegionContainsBackwardTest, OfADeviceThatNothingWorksOn) {
  for (const bool within_another : {false, true}) {
    auto findings = judged([&](TestRun& run) {
      auto info = TestRun::default_region();
      if (within_another) run.enter(info.parent = run.region("train.py", 4));
      info.device = 13;
      const auto region = run.region("train.py", 5, info);
      const auto use = run.use({.op = "aten::mm", .operands = {operand(kFloat32)}, .flags = lanes::kUseEligible});
      run.enter(region).deep().called(use).shallow();
      run.backward(run.fact(FactKind::kBackward, 12, {.subject = region, .text = ""})).exit();
      if (within_another) run.exit();
    });
    std::erase_if(findings, [](const Finding& f) { return f.rule != "region-contains-backward"; });
    EXPECT_EQ(findings.size(), within_another ? 1u : 0u);
  }
}

TEST_F(RegionContainsBackwardTest, BackwardAfterTheRegion) {
  expect_none(judged(
      [](TestRun& run) { run.enter(run.region("train.py", 5)).exit().backward(run.fact(FactKind::kBackward, 12)); }));
}

TEST_F(RegionContainsBackwardTest, InADisabledRegionWithinOne) {
  expect_none(judged([](TestRun& run) {
    const auto outer = run.region("train.py", 5);
    auto info = TestRun::default_region();
    info.parent = outer;
    info.nesting = 2;
    info.enabled = false;
    const auto inner = run.region("train.py", 6, info);
    run.enter(outer).enter(inner).backward(run.fact(FactKind::kBackward, 12, {.subject = inner, .text = ""}));
    run.exit().exit();
  }));
}

// Forces of a potential and a gradient penalty are part of the forward pass.
TEST_F(RegionContainsBackwardTest, GradientsAskedFor) {
  const auto act = [](TestRun& run, bool casts) {
    const auto region = run.region("train.py", 5);
    const auto cast = cast_in_backward(run, region);
    const auto call = run.fact(FactKind::kBackward, 12, {.subject = region, .detail = 1, .text = ""});
    run.enter(region).seen(call);
    if (casts) run.cast(cast, kOther);
    run.exit();
  };
  expect_none(judged([&](TestRun& run) { act(run, false); }));
  EXPECT_EQ(judged([&](TestRun& run) { act(run, true); }).size(), 1u);
}

// Two findings: how the loop affects the copies of the weights, and where backward is called.
TEST_F(RegionContainsBackwardTest, ARegionAroundTheLoop) {
  const auto findings = judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto call = run.fact(FactKind::kBackward, 12, {.subject = region, .text = ""});
    run.enter(region);
    for (int i = 0; i < 3; ++i) run.backward(call).optimizer();
    run.exit();
  });
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].rule, "region-contains-backward");
  EXPECT_EQ(findings[0].location->line, 12);
  EXPECT_EQ(findings[0].evidence_number[0], (std::pair<std::string, std::int64_t>("backward_calls", 3)));
  EXPECT_EQ(findings[1].rule, "region-spans-steps");
}

// castscope.amp's scale_loss works like this: it leaves the region around the loop before backward, and enters it
// again.
TEST_F(RegionContainsBackwardTest, TheRegionIsLeftAroundBackward) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto weight = run.weight("train.py", 10, "fc");
    const auto call = run.fact(FactKind::kBackward, 12);
    run.enter(region);
    for (int i = 0; i < 3; ++i) run.cast(weight, kWeight, true).exit().backward(call).enter(region).optimizer();
    run.exit();
  }));
}

}  // namespace
}  // namespace castscope::rules::region_contains_backward
