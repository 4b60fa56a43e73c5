#include "agent/operators/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace castscope::operators {
namespace {

using testing::ElementsAre;

std::vector<std::uint64_t> deep_steps(Schedule schedule, std::uint64_t steps, std::vector<std::uint64_t> changes = {},
                                      std::uint64_t looked = 0, std::uint64_t operators = 0) {
  std::vector<std::uint64_t> deep;
  for (std::uint64_t s = 0; s < steps; ++s) {
    bool changed = false;
    for (const std::uint64_t c : changes) changed |= c + 1 == s;
    if (schedule.step_begins(s, changed, operators * s, looked, 1000 * s)) deep.push_back(s);
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

TEST(Schedule, SoMuchAfterChangesAndThenAsTheBudgetAllows) {
  constexpr std::uint64_t kMuch = 1'000'000;
  EXPECT_THAT(deep_steps(Schedule({}), 30, {4, 6, 8}, kMuch, 9'000), ElementsAre(0, 1, 2, 5, 7, 9));
  EXPECT_THAT(deep_steps(Schedule({}), 30, {4, 6, 8}, kMuch, 11'000), ElementsAre(0, 1, 2, 5, 7));
  EXPECT_THAT(deep_steps(Schedule({}), 80, {4, 6, 8}, 40, 30'000), ElementsAre(0, 1, 2, 5, 60));
}

TEST(Schedule, AsTheModeSays) {
  EXPECT_THAT(deep_steps(Schedule(mode_of("always")), 5, {}, 1'000'000), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(deep_steps(Schedule(mode_of("never")), 5), ElementsAre());
  EXPECT_THAT(deep_steps(Schedule(mode_of("4")), 10), ElementsAre(0, 4, 8));
  for (const char* text : {"", "0", "often", "3x", "-1"}) EXPECT_EQ(mode_of(text).kind, Mode::kAutomatic) << text;
}

TEST(Schedule, AJobWithoutStepsIsLookedAtForSoManyOperators) {
  Schedule automatic({}), always(mode_of("always"));
  automatic.step_begins(0, false, 0, 0, 0);
  always.step_begins(0, false, 0, 0, 0);
  EXPECT_TRUE(automatic.goes_on(kOperatorsWithoutSteps - 1));
  EXPECT_FALSE(automatic.goes_on(kOperatorsWithoutSteps));
  EXPECT_TRUE(always.goes_on(kOperatorsWithoutSteps));
  automatic.step_begins(1, false, 0, 0, 0);
  EXPECT_TRUE(automatic.goes_on(kOperatorsWithoutSteps)) << "a step is looked at to its end";
}

TEST(ScheduleTest, SoMuchOfTailsAndThenAsTheBudgetAllows) {
  const Schedule schedule{Mode{}};
  EXPECT_TRUE(schedule.tail_begins(kOperatorsInFirstTails - 1, 1'000'000, 0));
  EXPECT_FALSE(schedule.tail_begins(kOperatorsInFirstTails, 1'000'000, 0));
  EXPECT_TRUE(schedule.tail_begins(kOperatorsInFirstTails, 1'000'000, 1'000'000 * kTimesMeasured * kBudgetDivisor));
  EXPECT_FALSE(Schedule({Mode::kNever}).tail_begins(0, 0, 0));
  EXPECT_FALSE(Schedule({Mode::kEvery, 5}).tail_begins(0, 0, 0));
}

}  // namespace
}  // namespace castscope::operators
