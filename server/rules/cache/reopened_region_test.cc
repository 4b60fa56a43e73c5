#include <gmock/gmock.h>

#include "server/rules/testing/rules_test.h"

namespace castscope::rules::weight_cast_repeatedly {
namespace {

class ReopenedRegionTest : public RulesTest {
 protected:
  // One training step: a loop that opens a region for each of its passes through the weight; then backward.
  struct Step {
    int stays = 3;
    bool backward_between = false, optimizer_between = false, written_between = false;
    bool grad_mode = true;
    int backwards = 1;
  };
  static void one(TestRun& run, const Step& step) {
    const auto region = run.region("train.py", 5);
    const auto weight = run.weight("train.py", 8, "fc");
    const auto backward = run.fact(FactKind::kBackward, 9);
    for (int stay = 0; stay < step.stays; ++stay) {
      run.enter(region).cast(weight, kWeight, true).version(step.written_between ? stay : 0);
      if (!step.grad_mode) run.without_grad();
      run.exit();
      if (step.backward_between) run.backward(backward);
      if (step.optimizer_between) run.optimizer();
    }
    for (int i = 0; i < step.backwards; ++i) run.backward(backward);
    if (step.backwards > 0) run.optimizer();
  }
  std::vector<Finding> found(const Step& step) {
    return judged([&](TestRun& run) { one(run, step); });
  }
};

TEST_F(ReopenedRegionTest, ARegionInALoop) {
  expect_golden("weight_cast_repeatedly_region_in_a_loop", judged([](TestRun& run) {
                  for (int step = 0; step < 2; ++step) one(run, {.stays = 12});
                }));
}

TEST_F(ReopenedRegionTest, StaysThatNoRegionCouldSpan) {
  EXPECT_EQ(found({}).size(), 1u);
  expect_none(found({.stays = 1}));
  expect_none(found({.backward_between = true}));  // micro-batches
  expect_none(found({.optimizer_between = true}));
  expect_none(found({.written_between = true}));
  expect_none(found({.grad_mode = false}));  // evaluation before a training step
  expect_none(found({.backwards = 0}));      // evaluation that forgot no_grad
  EXPECT_EQ(found({.stays = 3, .backwards = 2}).size(), 1u);
  expect_none(found({.stays = 2, .backwards = 2}));  // coroutines that train in turns
}

TEST_F(ReopenedRegionTest, ABatchThatIsLeftOut) {
  expect_none(judged([](TestRun& run) {
    one(run, {.stays = 1, .backwards = 0});
    for (int step = 0; step < 3; ++step) one(run, {.stays = 1});
  }));
}

TEST_F(ReopenedRegionTest, TwoLinesThatOpenOneEach) {
  const auto findings = judged([](TestRun& run) {
    const auto backward = run.fact(FactKind::kBackward, 9);
    const auto first = run.region("train.py", 5);
    const auto real = run.weight("train.py", 6, "judge");
    const auto second = run.region("train.py", 7);
    const auto fake = run.weight("train.py", 8, "judge");
    run.enter(first).cast(real, kWeight, true).exit().enter(second).cast(fake, kWeight, true).exit();
    run.backward(backward);
  });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].location->line, 7);
}

}  // namespace
}  // namespace castscope::rules::weight_cast_repeatedly
