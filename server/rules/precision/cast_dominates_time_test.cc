#include <gmock/gmock.h>

#include "server/rules/testing/rules_test.h"

namespace castscope::rules::cast_dominates_time {
namespace {

using CastDominatesTimeTest = RulesTest;

constexpr std::uint64_t kUs = 1000;

// The operator has the stack of the cast of its weight.
std::uint32_t linear(TestRun& run, std::uint16_t flags = 0) {
  return run.use({.op = "aten::linear",
                  .line = 8,
                  .operands = {operand(kFloat32, Role::kInput), operand(kFloat32, Role::kWeight)},
                  .computed = kBFloat16,
                  .flags = static_cast<std::uint16_t>(lanes::kUseEligible | flags),
                  .module = "fc",
                  .file = "serve.py"});
}

// Runs one linear in each step, at line 8: casting its weight takes `cast_us`, the whole operator `operator_us`.
void steps(TestRun& run, WhyNotCached why, std::uint64_t cast_us, std::uint64_t operator_us, std::uint16_t flags = 0,
           std::uint64_t bytes = 8'000'000) {
  const auto region = run.region("serve.py", 5);
  const auto weight = run.weight("serve.py", 8, "fc", why);
  const auto use = linear(run, flags);
  for (int i = 0; i < 10; ++i) {
    run.enter(region).deep();
    run.cast(weight, kWeight, why == WhyNotCached::kNone, bytes, static_cast<std::uint32_t>(cast_us * kUs));
    run.called(use, 1, 4096, operator_us * kUs).exit().step();
  }
}

TEST_F(CastDominatesTimeTest, OneRowAndALargeFrozenWeight) {
  expect_golden("cast_dominates_time_large_frozen_weight",
                judged([](TestRun& run) { steps(run, WhyNotCached::kNoRequiresGrad, 700, 1850); }));
}

TEST_F(CastDominatesTimeTest, ALargeBatch) {
  expect_none(judged([](TestRun& run) { steps(run, WhyNotCached::kNoRequiresGrad, 700, 40'000); }));
}

TEST_F(CastDominatesTimeTest, Cached) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("serve.py", 5);
    const auto weight = run.weight("serve.py", 8, "fc");
    const auto use = linear(run);
    run.enter(region).deep().cast(weight, kWeight, true, 8'000'000, 700 * kUs);
    for (int i = 0; i < 20; ++i) run.hit(weight, kWeight).called(use, 1, 4096, 1000 * kUs);
    run.exit();
  }));
}

TEST_F(CastDominatesTimeTest, AWeightThatIsTrainedChangesWithEachStep) {
  expect_none(judged([](TestRun& run) { steps(run, WhyNotCached::kNone, 700, 1850, lanes::kUseGradMode); }));
}

TEST_F(CastDominatesTimeTest, SmallWeightsCostWhatTheCallCosts) {
  expect_none(judged([](TestRun& run) { steps(run, WhyNotCached::kNoRequiresGrad, 300, 800, 0, 2048); }));
}

}  // namespace
}  // namespace castscope::rules::cast_dominates_time
