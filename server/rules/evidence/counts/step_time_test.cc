#include "server/rules/evidence/counts/step_time.h"

#include <gtest/gtest.h>

namespace castscope::rules {
namespace {

store::RunData run_of_a_process() {
  store::RunData data;
  data.processes.push_back({});
  return data;
}

TEST(StepTimeTest, WhatIsSavedIsSpreadOverAllSteps) {
  store::RunData data = run_of_a_process();
  EXPECT_FALSE(saved_per_step(data, 1000));
  store::StepRun& run = data.step_runs.emplace_back();
  run.process = store::ProcessId(1);
  run.last = 9;
  run.end_ns = 10'000;
  run.median_ns = 1000;
  const auto saved = saved_per_step(data, 1000);
  ASSERT_TRUE(saved);
  EXPECT_DOUBLE_EQ(saved->ns_per_step, 100);
  EXPECT_DOUBLE_EQ(saved->share_of_step, 0.1);
  EXPECT_FALSE(saved_per_step(data, 0));
}

// Ten training steps, and an evaluation of as many batches that takes as long: the time of both is that of ten steps.
TEST(StepTimeTest, EvaluationsArePartOfTheTrainingSteps) {
  store::RunData data = run_of_a_process();
  for (const std::uint32_t training : {10u, 0u}) {
    store::StepRun& run = data.step_runs.emplace_back();
    run.process = store::ProcessId(1);
    run.first = training == 0 ? 10 : 0;
    run.last = run.first + 9;
    run.training_steps = training;
    run.begin_ns = run.first * 1000;
    run.end_ns = run.begin_ns + 10'000;
    run.median_ns = 1000;
  }
  const auto saved = saved_per_step(data, 1000);
  ASSERT_TRUE(saved);
  EXPECT_DOUBLE_EQ(saved->ns_per_step, 100);
  EXPECT_DOUBLE_EQ(saved->share_of_step, 0.05);
  EXPECT_EQ(step_times(data).at(store::ProcessId(1)).passes, 20u);
}

// The first step sets things up.
TEST(StepTimeTest, ASlowFirstStepMakesNoSavingSmaller) {
  store::RunData data = run_of_a_process();
  for (const auto& [first, last, median] : {std::tuple{0u, 0u, 500'000}, {1u, 9u, 1000}}) {
    store::StepRun& run = data.step_runs.emplace_back();
    run.process = store::ProcessId(1);
    run.first = first;
    run.last = last;
    run.median_ns = median;
  }
  EXPECT_DOUBLE_EQ(saved_per_step(data, 1000)->share_of_step, 0.1);
}

// The events of nine training steps and an evaluation are there, and the process made four times as many.
TEST(StepTimeTest, StepsOfWhichNoEventTellsTakeTheirTimeToo) {
  store::RunData data = run_of_a_process();
  store::Process& process = data.processes[store::ProcessId(1)];
  process.ended = true;
  process.lanes.push_back({.written = 400, .received = 100});
  process.gauges.training_steps = 36;
  for (const std::uint32_t training : {9u, 0u}) {
    store::StepRun& run = data.step_runs.emplace_back();
    run.process = store::ProcessId(1);
    run.first = training == 0 ? 9 : 0;
    run.last = training == 0 ? 9 : 8;
    run.training_steps = training;
    run.median_ns = training == 0 ? 900 : 1000;
  }
  const store::Savings saved = *saved_per_step(data, 36'000);
  EXPECT_DOUBLE_EQ(saved.ns_per_step, 1000);
  EXPECT_DOUBLE_EQ(saved.share_of_step, 36'000 / (36'000.0 + 4 * 900));
}

}  // namespace
}  // namespace castscope::rules
