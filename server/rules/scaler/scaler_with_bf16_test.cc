#include "server/rules/scaler/scaler_loop.h"

namespace castscope::rules {
namespace {

using ScalerWithBf16Test = RulesTest;

TEST_F(ScalerWithBf16Test, C54_AScalerAndBfloat16) {
  expect_golden("C-54", judged([](TestRun& run) {
                  ScalerLoop loop(run, kBFloat16);
                  for (int i = 0; i < 3; ++i) loop.round();
                }));
}

TEST_F(ScalerWithBf16Test, C54_AScalerAndFloat16) {
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

TEST_F(ScalerWithBf16Test, NoScaler) {
  expect_none(judged([](TestRun& run) {
    ScalerLoop loop(run, kBFloat16);
    run.enter(loop.region).exit().backward(loop.backward).optimizer(loop.other_step);
  }));
}

}  // namespace
}  // namespace castscope::rules
