#include <gmock/gmock.h>

#include "server/rules/testing/rules_test.h"

namespace castscope::rules::rnn_recasts_weights {
namespace {

class RnnRecastsWeightsTest : public RulesTest {
 protected:
  struct Job {
    int calls = 1, steps = 5;  // calls of the RNN in each step
    bool trains = true;
    bool begins_without_state = false;  // the first call of a step is then another use of the operator
    std::uint64_t bytes = 16'000'000;
    std::uint8_t region = kFloat16;  // its dtype
  };
  static void run_rnn(TestRun& run, const Job& job) {
    auto cuda = TestRun::default_region();
    cuda.device = 1;
    cuda.dtype = job.region;
    const auto region = run.region("train.py", 5, cuda);
    const auto stack = run.line("train.py", 8, true);
    const auto weights = run.site({.stack = stack,
                                   .module = run.module("rnn", "LSTM"),
                                   .region = region,
                                   .op = "aten::_cudnn_rnn",
                                   .role = Role::kWeight,
                                   .cause = lanes::Cause::kReflatten,
                                   .why = WhyNotCached::kNotAutocast,
                                   .phase = lanes::Phase::kForward,
                                   .from = kFloat32,
                                   .to = kFloat16,
                                   .device = 1});
    const auto use = run.use({.op = "aten::_cudnn_rnn",
                              .operands = {operand(kFloat32)},
                              .computed = kFloat16,
                              .flags = lanes::kUseEligible,
                              .device = 1,
                              .stack = stack});
    const auto stateless = run.use({.op = "aten::_cudnn_rnn",
                                    .operands = {operand(kFloat32), operand(kFloat32)},
                                    .computed = kFloat16,
                                    .flags = lanes::kUseEligible,
                                    .device = 1,
                                    .stack = stack});
    const auto kernel = run.kernel({.name = "copy", .use = use, .site = weights});
    const auto optimizer = run.fact(FactKind::kOptimizerStep, 20);
    for (int step = 0; step < job.steps; ++step) {
      run.enter(region).deep().timed();
      for (int call = 0; call < job.calls; ++call)
        run.cast(weights, kWeight, false, job.bytes)
            .called(call == 0 && job.begins_without_state ? stateless : use)
            .launched(kernel, 4, 3000);
      run.launched(run.kernel({.name = "rnn", .use = use}), 1, 900'000).shallow().exit();
      if (job.trains) run.optimizer(optimizer);
      run.step();
    }
  }
  static std::vector<Finding> only(std::vector<Finding> findings) {
    std::erase_if(findings, [](const Finding& finding) { return finding.rule != "rnn-recasts-weights"; });
    return findings;
  }
};

TEST_F(RnnRecastsWeightsTest, StepByStep) {
  expect_golden("rnn_recasts_weights_every_step", only(judged([](TestRun& run) { run_rnn(run, {.calls = 20}); })));
}

TEST_F(RnnRecastsWeightsTest, InferenceWithTheSameWeights) {
  const auto findings = only(judged([](TestRun& run) { run_rnn(run, {.trains = false}); }));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_NE(findings[0].fix.find("Convert the RNN once"), std::string::npos);
  EXPECT_NE(findings[0].fix.find("rnn.to(torch.float16)"), std::string::npos);
}

TEST_F(RnnRecastsWeightsTest, TheRegionsDtypeIsAdvised) {
  const auto findings = only(judged([](TestRun& run) { run_rnn(run, {.trains = false, .region = kBFloat16}); }));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_NE(findings[0].fix.find("rnn.to(torch.bfloat16)"), std::string::npos);
}

TEST_F(RnnRecastsWeightsTest, ATrainedOneThatIsCalledOncePerStep) {
  expect_none(only(judged([](TestRun& run) { run_rnn(run, {}); })));
}

TEST_F(RnnRecastsWeightsTest, CallsOfDifferentUsesAreCallsOfOneLine) {
  const auto findings = only(judged([](TestRun& run) { run_rnn(run, {.calls = 2, .begins_without_state = true}); }));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_THAT(findings[0].evidence_number, testing::Contains(testing::Pair("calls_per_step", 2)));
}

TEST_F(RnnRecastsWeightsTest, SmallOrCalledOnce) {
  expect_none(only(judged([](TestRun& run) { run_rnn(run, {.calls = 20, .bytes = 2000}); })));
  expect_none(only(judged([](TestRun& run) { run_rnn(run, {.steps = 1, .trains = false}); })));
}

}  // namespace
}  // namespace castscope::rules::rnn_recasts_weights
