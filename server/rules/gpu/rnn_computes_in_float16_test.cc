#include "server/rules/testing/rules_test.h"

namespace castscope::rules::rnn_computes_in_float16 {
namespace {

class RnnComputesInFloat16Test : public RulesTest {
 protected:
  static std::uint32_t cuda_region(TestRun& run, std::uint8_t dtype, bool enabled = true) {
    auto region = TestRun::default_region();
    region.device = 1;
    region.dtype = dtype;
    region.enabled = enabled;
    return run.region("train.py", 5, region);
  }
  struct Job {
    int calls = 3;
    std::uint8_t from = kFloat32, to = kFloat16;
    bool trains = true;
  };
  static void run_rnn(TestRun& run, std::uint32_t region, const Job& job) {
    const auto weights = run.site({.stack = run.line("train.py", 8, true),
                                   .module = run.module("rnn", "LSTM"),
                                   .region = region,
                                   .op = "aten::_cudnn_rnn",
                                   .role = Role::kWeight,
                                   .cause = lanes::Cause::kReflatten,
                                   .why = WhyNotCached::kNotAutocast,
                                   .phase = lanes::Phase::kForward,
                                   .from = job.from,
                                   .to = job.to,
                                   .device = 1});
    const auto optimizer = run.fact(FactKind::kOptimizerStep, 20);
    run.enter(region);
    for (int call = 0; call < job.calls; ++call) run.cast(weights, kWeight, false, 1000);
    run.exit();
    if (job.trains) run.optimizer(optimizer);
    run.step();
  }
  std::vector<Finding> found(std::uint8_t dtype, const Job& job, bool enabled = true) {
    return only(judged([&](TestRun& run) { run_rnn(run, cuda_region(run, dtype, enabled), job); }));
  }
  static std::vector<Finding> only(std::vector<Finding> findings) {
    std::erase_if(findings, [](const Finding& finding) { return finding.rule != "rnn-computes-in-float16"; });
    return findings;
  }
};

TEST_F(RnnComputesInFloat16Test, InARegionOfBfloat16) {
  expect_golden("rnn_computes_in_float16_in_bfloat16_region", found(kBFloat16, {}));
}

TEST_F(RnnComputesInFloat16Test, OnceInInference) {
  const auto findings = found(kBFloat16, {.calls = 1, .from = kBFloat16, .trains = false});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].fix.find("GradScaler"), std::string::npos);
}

TEST_F(RnnComputesInFloat16Test, Float16IsMeant) { expect_none(found(kFloat16, {})); }

TEST_F(RnnComputesInFloat16Test, ADisabledRegion) { expect_none(found(kBFloat16, {}, false)); }

TEST_F(RnnComputesInFloat16Test, AKernelThatHeedsTheRegion) { expect_none(found(kBFloat16, {.to = kBFloat16})); }

}  // namespace
}  // namespace castscope::rules::rnn_computes_in_float16
