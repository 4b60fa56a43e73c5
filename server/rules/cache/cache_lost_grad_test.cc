#include "server/rules/testing/rules_test.h"

namespace castscope::rules::cache_lost_grad {
namespace {

using CacheLostGradTest = RulesTest;

// PyTorch 2.13 casts such a weight again: this is the behaviour of an older version.
TEST_F(CacheLostGradTest, CastUnderNoGradUsedWithGrad) {
  expect_golden("cache_lost_grad_cast_under_no_grad", judged([](TestRun& run) {
                  const auto region = run.region("train.py", 5);
                  const auto teacher = run.weight("train.py", 7, "fc");
                  const auto student = run.weight("train.py", 8, "fc");
                  const auto lost = run.fact(FactKind::kLostGrad, 8, {.subject = student, .text = ""});
                  run.enter(region).cast(teacher, kWeight, true).hit(student, kWeight).seen(lost).exit();
                }));
}

TEST_F(CacheLostGradTest, CastAgainWithItsGraph) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto teacher = run.weight("train.py", 7, "fc");
    const auto student = run.weight("train.py", 8, "fc");
    run.enter(region).cast(teacher, kWeight, true).cast(student, kWeight, true).hit(student, kWeight).exit();
  }));
}

TEST_F(CacheLostGradTest, NotKeptUnderInferenceMode) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto first = run.weight("train.py", 7, "fc", WhyNotCached::kInferenceMode);
    const auto second = run.weight("train.py", 8, "fc");
    run.enter(region).cast(first, kWeight).cast(second, kWeight, true).exit();
  }));
}

}  // namespace
}  // namespace castscope::rules::cache_lost_grad
