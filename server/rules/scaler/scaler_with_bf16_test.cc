#include <algorithm>

#include "server/rules/testing/enforced_test.h"
#include "server/rules/testing/scaler_loop.h"

namespace castscope::rules::scaler_with_bf16 {
namespace {

using ScalerWithBf16Test = EnforcedRulesTest;

TEST_F(ScalerWithBf16Test, AScalerAndBfloat16) {
  expect_golden("scaler_with_bf16_loop", judged([](TestRun& run) {
                  ScalerLoop loop(run, kBFloat16);
                  for (int i = 0; i < 3; ++i) loop.round();
                }));
}

TEST_F(ScalerWithBf16Test, AScalerAndFloat16) {
  expect_none(judged([](TestRun& run) {
    ScalerLoop loop(run);
    for (int i = 0; i < 3; ++i) loop.round();
  }));
}

// Evaluation in bfloat16 beside training in float16.
TEST_F(ScalerWithBf16Test, BothDtypes) {
  expect_none(judged([](TestRun& run) {
    ScalerLoop loop(run);
    for (int i = 0; i < 3; ++i) loop.round();
    run.enter(run.region("train.py", 20)).exit();
  }));
}

// The policy's `dtype` is not that of the regions.
TEST_F(ScalerWithBf16Test, APolicyThatCastsToFloat16) {
  for (const std::uint8_t to : {kFloat16, kBFloat16}) {
    const auto findings = judged_under("torch-cpu", [&](TestRun& run) {
      ScalerLoop loop(run, kBFloat16);
      const auto weight = run.site({.stack = run.line("train.py", 6),
                                    .call_site = run.call_site("aten::linear", 1, "weight"),
                                    .region = loop.region,
                                    .op = "",
                                    .role = Role::kWeight,
                                    .cause = lanes::Cause::kAutocast,
                                    .from = kFloat32,
                                    .to = to,
                                    .flags = lanes::kSiteParameter});
      for (int i = 0; i < 3; ++i) loop.round();
      run.enter(loop.region).cast(weight, kWeight, true).exit();
    });
    EXPECT_EQ(std::ranges::count(findings, "scaler-with-bf16", &Finding::rule), to == kFloat16 ? 0 : 1);
  }
}

TEST_F(ScalerWithBf16Test, NoScaler) {
  expect_none(judged([](TestRun& run) {
    ScalerLoop loop(run, kBFloat16);
    run.enter(loop.region).exit().backward(loop.backward).optimizer(loop.other_step);
  }));
}

}  // namespace
}  // namespace castscope::rules::scaler_with_bf16
