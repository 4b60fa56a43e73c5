#include "server/rules/testing/rules_test.h"

namespace castscope::rules::thread_lost_region {
namespace {

using store::CodeLocation;
using ThreadLostRegionTest = RulesTest;

const CodeLocation kRun = {"/usr/lib/python3.11/threading.py", "Thread.run", 982},
                   kBootstrap = {"/usr/lib/python3.11/threading.py", "Thread._bootstrap", 1002},
                   kLinear = {"/venv/lib/python3.11/site-packages/torch/nn/modules/linear.py", "Linear.forward", 134};
CodeLocation frame(const std::string& function, std::int64_t line) {
  return {"/home/user/project/train.py", function, line};
}
store::TestUse linear(std::uint32_t stack, std::uint16_t flags = lanes::kUseOthersOpen) {
  return {.op = "aten::linear",
          .operands = {operand(kFloat32), operand(kFloat32, Role::kWeight)},
          .flags = static_cast<std::uint16_t>(lanes::kUseEligible | flags),
          .phase = lanes::Phase::kOther,
          .outside = true,
          .stack = stack};
}

TEST_F(ThreadLostRegionTest, ThreadStartedInsideARegion) {
  expect_golden("thread_lost_region_thread_started_in_region", judged([](TestRun& run) {
                  const auto region = run.region("train.py", 5);
                  const auto first = run.use(linear(run.stack({kLinear, frame("work", 20), kRun, kBootstrap})));
                  const auto second = run.use(linear(run.stack({frame("work", 21), kRun, kBootstrap})));
                  run.deep().enter(region).lane(2).called(first, 2).called(second).lane(1).exit();
                }));
}

TEST_F(ThreadLostRegionTest, ThreadThatRunsAModuleItself) {
  const auto findings = judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto use = run.use(linear(run.stack({kLinear, kRun, kBootstrap})));
    run.deep().enter(region).lane(2).called(use).lane(1).exit();
  });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].location->line, 5);  // the thread has no line of the user's own
}

TEST_F(ThreadLostRegionTest, ThreadOpensItsOwnRegion) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto own = run.region("train.py", 19);
    auto cast = linear(run.stack({frame("work", 20), kRun, kBootstrap}), 0);
    cast.outside = false;
    cast.computed = kBFloat16;
    const auto use = run.use(cast);
    run.deep().enter(region).lane(2).enter(own).called(use).exit().lane(1).exit();
  }));
}

TEST_F(ThreadLostRegionTest, HelperWithoutWorkForAutocast) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    auto stack = linear(run.stack({frame("collate", 20), kRun, kBootstrap}));
    stack.op = "aten::stack";
    auto norm = linear(run.stack({frame("collate", 21), kRun, kBootstrap}));
    norm.op = "aten::layer_norm";
    norm.flags = lanes::kUseOthersOpen;
    const auto first = run.use(stack), second = run.use(norm);
    run.deep().enter(region).lane(2).called(first).called(second).lane(1).exit();
  }));
}

// A loader that goes on working while the others are between regions is independent of them.
TEST_F(ThreadLostRegionTest, AThreadThatGoesItsOwnWay) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto stack = run.stack({frame("spectrogram", 20), frame("prefetch", 30), kRun, kBootstrap});
    const auto inside = run.use(linear(stack)), outside = run.use(linear(stack, 0));
    run.deep().enter(region).lane(2).called(inside, 9).lane(1).exit().lane(2).called(outside);
  }));
}

TEST_F(ThreadLostRegionTest, TheOthersRegionIsDisabled) {
  expect_none(judged([](TestRun& run) {
    auto info = TestRun::default_region();
    info.enabled = false;
    const auto region = run.region("train.py", 5, info);
    const auto use = run.use(linear(run.stack({frame("work", 20), kRun, kBootstrap})));
    run.deep().enter(region).lane(2).called(use).lane(1).exit();
  }));
}

TEST_F(ThreadLostRegionTest, TheFirstThreadBesideOneThatHasARegion) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto use = run.use(linear(run.stack({frame("evaluate", 20), frame("<module>", 40)})));
    run.deep().lane(2).enter(region).lane(1).called(use).lane(2).exit();
  }));
}

TEST_F(ThreadLostRegionTest, Backward) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    auto backward = linear(run.stack({frame("work", 20), kRun, kBootstrap}));
    backward.phase = lanes::Phase::kBackward;
    backward.node = "MmBackward0";
    const auto use = run.use(backward);
    run.deep().enter(region).lane(2).called(use).lane(1).exit();
  }));
}

}  // namespace
}  // namespace castscope::rules::thread_lost_region
