#include "agent/operators/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace castscope::operators {
namespace {

using testing::ElementsAre;

std::vector<std::uint64_t> deep_steps(Schedule schedule, std::uint64_t steps, std::vector<std::uint64_t> changes = {},
                                      std::uint64_t looked = 0, std::uint64_t operators = 0, std::uint64_t places = 0) {
  std::vector<std::uint64_t> deep;
  for (std::uint64_t s = 0; s < steps; ++s) {
    bool changed = false;
    for (const std::uint64_t c : changes) changed |= c + 1 == s;
    const Spent spent{.operators = operators * s, .places = places, .looked_ns = looked, .run_ns = 1000 * s};
    if (schedule.step_begins(s, changed, spent)) deep.push_back(s);
  }
  return deep;
}

TEST(Schedule, FirstThreeAndThenAtAGrowingDistance) {
  EXPECT_THAT(deep_steps(Schedule({}), 2000), ElementsAre(0, 1, 2, 10, 100, 1000));
}

TEST(Schedule, TheStepAfterAChange) {
  EXPECT_THAT(deep_steps(Schedule({}), 9, {4}), ElementsAre(0, 1, 2, 5));
  EXPECT_THAT(deep_steps(Schedule({}), 9, {4, 5}), ElementsAre(0, 1, 2, 5)) << "what is new in a deep step was seen";
}

TEST(Schedule, BeyondTheFirstOnlyWithinTheBudget) {
  // 3 * 40 for looking and 1000 for running, per step: looking is 0.2 % at step 60.
  EXPECT_THAT(deep_steps(Schedule({}), 80, {}, 40), ElementsAre(0, 1, 2, 60)) << "it is made up for later, once";
  EXPECT_THAT(deep_steps(Schedule({}), 30, {}, 1'000'000), ElementsAre(0, 1, 2));
}

TEST(Schedule, NewCodeIsFreeAtFirstAndThenAsItsBudgetAllows) {
  constexpr std::uint64_t kMuch = 1'000'000;
  EXPECT_THAT(deep_steps(Schedule({}), 30, {4, 6, 8}, kMuch, 2'000), ElementsAre(0, 1, 2, 5, 7, 9));
  EXPECT_THAT(deep_steps(Schedule({}), 30, {4, 6, 8}, kMuch, 2'500), ElementsAre(0, 1, 2, 5, 7));
  EXPECT_THAT(deep_steps(Schedule({}), 30, {4, 6, 8}, kMuch, 2'500, 100), ElementsAre(0, 1, 2, 5, 7, 9))
      << "each place that was found pays for operators";
  // 3 * 600 for looking and 1000 for running, per step: looking is 3 % at step 60.
  EXPECT_THAT(deep_steps(Schedule({}), 80, {4, 6, 8}, 600, 30'000), ElementsAre(0, 1, 2, 60));
}

TEST(Schedule, WhatTheBudgetDidNotAllowIsCounted) {
  Schedule schedule({});
  const Spent much{.operators = kOperatorsFree, .places = 0, .looked_ns = 1'000'000, .run_ns = 0};
  for (std::uint64_t step = 0; step < 5; ++step) schedule.step_begins(step, step == 4, much);
  EXPECT_EQ(schedule.refused(), 1u);
  EXPECT_FALSE(schedule.new_code_begins(much));
  EXPECT_EQ(schedule.refused(), 2u);
  EXPECT_TRUE(
      schedule.new_code_begins({.operators = kOperatorsFree, .places = 1, .looked_ns = 1'000'000, .run_ns = 0}));
  EXPECT_EQ(schedule.refused(), 2u);
  EXPECT_FALSE(
      schedule.new_code_begins({.operators = 1, .places = 1'000'000, .looked_ns = kMostFreeNs, .run_ns = kMostFreeNs}))
      << "what is free has an end";
  EXPECT_FALSE(Schedule(mode_of("never")).new_code_begins({}));
  EXPECT_FALSE(Schedule(mode_of("5")).new_code_begins({}));
}

TEST(Schedule, LookingAtNewCodeEndsWhenNothingNewComes) {
  const Schedule schedule({});
  EXPECT_TRUE(schedule.new_code_goes_on(kQuietOperators - 1, {}));
  EXPECT_FALSE(schedule.new_code_goes_on(kQuietOperators, {}));
  EXPECT_FALSE(schedule.new_code_goes_on(0, {.operators = kOperatorsFree, .places = 0, .looked_ns = 1, .run_ns = 0}));
}

TEST(Schedule, AsTheModeSays) {
  EXPECT_THAT(deep_steps(Schedule(mode_of("always")), 5, {}, 1'000'000), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(deep_steps(Schedule(mode_of("never")), 5), ElementsAre());
  EXPECT_THAT(deep_steps(Schedule(mode_of("4")), 10), ElementsAre(0, 4, 8));
  for (const char* text : {"", "0", "often", "3x", "-1"}) EXPECT_EQ(mode_of(text).kind, Mode::kAutomatic) << text;
}

TEST(Schedule, AJobWithoutStepsIsLookedAtForSoManyOperatorsAndAsLongAsItBringsNewCode) {
  Schedule automatic({}), always(mode_of("always"));
  automatic.step_begins(0, false, {});
  always.step_begins(0, false, {});
  const Spent much{.operators = kOperatorsFree, .places = 1, .looked_ns = 1'000'000, .run_ns = 0};
  EXPECT_TRUE(automatic.goes_on(kOperatorsFree - 1, kQuietOperators, much));
  EXPECT_FALSE(automatic.goes_on(kOperatorsFree, kQuietOperators, much));
  EXPECT_TRUE(automatic.goes_on(kOperatorsFree, kQuietOperators - 1, much));
  EXPECT_TRUE(always.goes_on(kOperatorsFree, kQuietOperators, much));
  automatic.step_begins(1, false, {});
  EXPECT_TRUE(automatic.goes_on(kOperatorsFree, kQuietOperators, much)) << "a step is looked at to its end";
}

TEST(ScheduleTest, SoMuchOfTailsAndThenAsTheBudgetAllows) {
  const Schedule schedule{Mode{}};
  const Spent much{.operators = 0, .places = 0, .looked_ns = 1'000'000, .run_ns = 0};
  EXPECT_TRUE(schedule.tail_begins(kOperatorsInFirstTails - 1, much));
  EXPECT_FALSE(schedule.tail_begins(kOperatorsInFirstTails, much));
  EXPECT_TRUE(
      schedule.tail_begins(kOperatorsInFirstTails,
                           {.operators = 0, .places = 0, .looked_ns = 1, .run_ns = kTimesMeasured * kBudgetDivisor}));
  EXPECT_FALSE(Schedule({Mode::kNever}).tail_begins(0, {}));
  EXPECT_FALSE(Schedule({Mode::kEvery, 5}).tail_begins(0, {}));
}

}  // namespace
}  // namespace castscope::operators
