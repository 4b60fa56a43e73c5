#include "server/rules/evidence/counts/step_time.h"

#include <gtest/gtest.h>

namespace castscope::rules {
namespace {

TEST(StepTimeTest, WhatIsSavedIsSpreadOverAllSteps) {
  store::RunData data;
  EXPECT_FALSE(saved_per_step(data, 1000));
  data.step_runs.push_back({.process = store::ProcessId(1), .first = 0, .last = 9, .begin_ns = 0, .end_ns = 10'000});
  const auto saved = saved_per_step(data, 1000);
  ASSERT_TRUE(saved);
  EXPECT_DOUBLE_EQ(saved->ns_per_step, 100);
  EXPECT_DOUBLE_EQ(saved->share_of_step, 0.1);
  EXPECT_FALSE(saved_per_step(data, 0));
}

}  // namespace
}  // namespace castscope::rules
