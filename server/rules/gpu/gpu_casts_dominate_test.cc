#include "server/rules/testing/rules_test.h"

namespace castscope::rules::gpu_casts_dominate {
namespace {

class GpuCastsDominateTest : public RulesTest {
 protected:
  // Runs timed steps with three lines that cast weights, in `cast_ns` altogether, and one product of `rest_ns`.
  static void steps(TestRun& run, std::uint64_t cast_ns, std::uint64_t rest_ns, std::uint64_t times = 5) {
    const auto region = run.region("train.py", 5);
    std::uint64_t launches = times;
    run.enter(region).deep().timed(times);
    for (const int line : {8, 9, 10}) {
      const auto weight = run.weight("train.py", line, "fc" + std::to_string(line), WhyNotCached::kNoRequiresGrad);
      const auto use = run.use({.op = "aten::linear", .line = line, .operands = {operand(kBFloat16)}, .device = 1});
      run.cast(weight, kWeight);
      run.launched(run.kernel({.name = "copy", .use = use, .site = weight}), launches, cast_ns / times / (line - 6));
      run.launched(run.kernel({.name = "gemm", .use = use}), times, rest_ns / times / 3);
    }
    run.shallow().exit();
  }
};

TEST_F(GpuCastsDominateTest, CastsTakeAThird) {
  expect_golden("gpu_casts_dominate_third_of_time", judged([](TestRun& run) { steps(run, 3'000'000, 7'000'000); }));
}

TEST_F(GpuCastsDominateTest, CastsTakeATenth) {
  expect_none(judged([](TestRun& run) { steps(run, 3'000'000, 60'000'000); }));
}

TEST_F(GpuCastsDominateTest, TooLittleToTell) {
  expect_none(judged([](TestRun& run) { steps(run, 300'000, 700'000); }));
}

TEST_F(GpuCastsDominateTest, ManyShortOnesCountToo) {
  const auto findings = judged([](TestRun& run) { steps(run, 600'000, 700'000, 100); });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, "gpu-casts-dominate");
}

TEST_F(GpuCastsDominateTest, AFewTimedStepsStandForALongRun) {
  const auto findings = judged([](TestRun& run) {
    steps(run, 300'000, 700'000);
    for (int i = 0; i < 100; ++i) run.step();
  });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, "gpu-casts-dominate");
}

TEST_F(GpuCastsDominateTest, StandsAtALineThoughOneWithoutCostsMore) {
  const auto findings = judged([](TestRun& run) {
    const auto gradients =
        run.site({.op = "aten::linear", .cause = lanes::Cause::kBackward, .from = kBFloat16, .to = kFloat32});
    run.launched(run.kernel({.name = "copy", .site = gradients}), 5, 1'000'000);
    steps(run, 3'000'000, 7'000'000);
  });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].location->line, 8);
  EXPECT_EQ(findings[0].related.size(), 1u) << "of the next two the one that has a line";
  EXPECT_EQ(findings[0].evidence_text.at(0).second,
            "no Python line, linear, 5.0 ms; train.py:8 linear weight, 1.5 ms; train.py:9 linear weight, 1.0 ms");
}

TEST_F(GpuCastsDominateTest, ALineWithSeveralKindsOfCastsSaysSo) {
  const auto findings = judged([](TestRun& run) {
    steps(run, 3'000'000, 7'000'000);
    const auto weight = run.weight("train.py", 8, "other", WhyNotCached::kNoRequiresGrad);
    const auto input = run.site({.stack = run.line("train.py", 8, true),
                                 .op = "aten::mm",
                                 .cause = lanes::Cause::kUserTo,
                                 .from = kFloat32,
                                 .to = kBFloat16});
    run.launched(run.kernel({.name = "copy", .site = weight}), 5, 1'000);
    run.launched(run.kernel({.name = "copy", .site = input}), 5, 1'000);
  });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].evidence_text.at(0).second.substr(0, 33), "train.py:8 linear weight and othe");
}

TEST_F(GpuCastsDominateTest, CastsOfWhichEventsTellTheTimeAreNoShareOfAnything) {
  expect_none(judged([](TestRun& run) {
    steps(run, 3'000'000, 60'000'000);
    const auto weight = run.weight("train.py", 11, "fc");
    run.gauges.gpu_event_steps = 5;
    run.launched(run.kernel({.name = "", .site = weight, .work = lanes::GpuWork::kCastByEvents}), 1'000, 100'000);
  }));
}

TEST_F(GpuCastsDominateTest, WithoutTimedStepsNothingIsSaid) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5), weight = run.weight("train.py", 8, "fc");
    run.enter(region).deep().cast(weight, kWeight, true).shallow().exit();
  }));
}

}  // namespace
}  // namespace castscope::rules::gpu_casts_dominate
