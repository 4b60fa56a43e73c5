#include "server/rules/testing/rules_test.h"

namespace castscope::rules::region_empty {
namespace {

using store::CodeLocation;
using RegionEmptyTest = RulesTest;

const CodeLocation kDecorator = {"/venv/lib/python3.11/site-packages/torch/amp/autocast_mode.py",
                                 "autocast_decorator.<locals>.decorate_autocast", 44};
CodeLocation frame(const std::string& function, std::int64_t line) {
  return {"/home/user/project/train.py", function, line};
}
store::TestUse linear(std::uint32_t stack) {
  return {.op = "aten::linear",
          .operands = {operand(kFloat32), operand(kFloat32, Role::kWeight)},
          .flags = lanes::kUseEligible,
          .phase = lanes::Phase::kOther,
          .outside = true,
          .stack = stack};
}
std::uint32_t region_at(TestRun& run, std::vector<CodeLocation> frames, std::uint8_t flags = 0) {
  store::RegionInfo info = TestRun::default_region();
  info.stack = run.stack(std::move(frames));
  info.flags = flags;
  return run.region("", 0, info);
}

TEST_F(RegionEmptyTest, DecoratedClass) {
  expect_golden("region_empty_decorated_class", judged([](TestRun& run) {
                  const auto region =
                      region_at(run, {kDecorator, frame("build", 20), frame("<module>", 40)}, lanes::kRegionRunsLater);
                  const auto forward =
                      run.use(linear(run.stack({frame("Net.forward", 12), frame("run", 30), frame("<module>", 41)})));
                  run.enter(region).exit().deep().called(forward, 5);
                }));
}

TEST_F(RegionEmptyTest, WithAroundALazyCall) {
  expect_golden(
      "region_empty_lazy_call", judged([](TestRun& run) {
        const auto region = region_at(run, {frame("run", 20), frame("<module>", 40)});
        const auto later = run.use(linear(run.stack({frame("batches", 12), frame("run", 22), frame("<module>", 40)})));
        run.enter(region).exit().deep().called(later, 2);
      }));
}

TEST_F(RegionEmptyTest, PlainDecoratedFunction) {
  expect_none(judged([](TestRun& run) {
    const auto region = region_at(run, {kDecorator, frame("run", 20), frame("<module>", 40)});
    const auto weight = run.weight("train.py", 12, "fc");
    const auto later = run.use(linear(run.stack({frame("run", 22), frame("<module>", 40)})));
    run.enter(region).cast(weight, kWeight, true).exit().deep().called(later);
  }));
}

// The region has nothing to do, and missed nothing.
TEST_F(RegionEmptyTest, ACheckpointIsLoaded) {
  expect_none(judged([](TestRun& run) {
    const auto region = region_at(run, {frame("load", 20), frame("main", 30), frame("<module>", 40)});
    const auto elsewhere = run.use(linear(run.stack({frame("main", 31), frame("<module>", 40)})));
    run.enter(region).exit().deep().called(elsewhere);
  }));
}

TEST_F(RegionEmptyTest, TheSameFunctionHasARegionThatWorks) {
  expect_none(judged([](TestRun& run) {
    const auto empty = region_at(run, {frame("main", 20), frame("<module>", 40)});
    const auto works = region_at(run, {frame("main", 24), frame("<module>", 40)});
    const auto weight = run.weight("train.py", 25, "fc");
    const auto metric = run.use(linear(run.stack({frame("main", 30), frame("<module>", 40)})));
    run.enter(empty).exit().enter(works).cast(weight, kWeight, true).exit().deep().called(metric);
  }));
}

TEST_F(RegionEmptyTest, WorkBeforeIt) {
  expect_none(judged([](TestRun& run) {
    const auto region = region_at(run, {frame("main", 20), frame("<module>", 40)});
    const auto before = run.use(linear(run.stack({frame("main", 10), frame("<module>", 40)})));
    run.deep().called(before).enter(region).exit();
  }));
}

// A compiled model casts while it is traced, and never again.
TEST_F(RegionEmptyTest, WhatWasTracedInItIsWork) {
  expect_none(judged([](TestRun& run) {
    const auto region = region_at(run, {frame("main", 20), frame("<module>", 40)});
    const auto traced = run.site({.call_site = run.call_site("aten::linear", 1, "weight"),
                                  .region = region,
                                  .op = "",
                                  .cause = lanes::Cause::kAutocast,
                                  .flags = lanes::kSiteTraced});
    const auto later = run.use(linear(run.stack({frame("main", 22), frame("<module>", 40)})));
    run.enter(region);
    run.counter(traced).traced += 4;
    run.exit().deep().called(later);
  }));
}

TEST_F(RegionEmptyTest, TheRegionAroundItCoversTheWork) {
  expect_none(judged([](TestRun& run) {
    const auto outer = region_at(run, {frame("main", 19), frame("<module>", 40)});
    store::RegionInfo info = TestRun::default_region();
    info.stack = run.stack({kDecorator, frame("main", 20), frame("<module>", 40)});
    info.parent = outer;
    info.nesting = 2;
    info.flags = lanes::kRegionRunsLater;
    const auto inner = run.region("", 0, info);
    const auto weight = run.weight("train.py", 25, "fc");
    const auto outside = run.use(linear(run.stack({frame("main", 30), frame("<module>", 40)})));
    run.enter(outer).enter(inner).exit().cast(weight, kWeight, true).exit().deep().called(outside);
  }));
}

// PyTorch opens regions of its own: custom_bwd opens one around the backward of a Function that has nothing to cast.
TEST_F(RegionEmptyTest, OpenedByPyTorch) {
  expect_none(judged([](TestRun& run) {
    const CodeLocation engine = {"/venv/lib/python3.11/site-packages/torch/autograd/function.py",
                                 "BackwardCFunction.apply", 311};
    const auto region = region_at(run, {kDecorator, engine, frame("main", 20), frame("<module>", 40)});
    const auto later = run.use(linear(run.stack({frame("main", 22), frame("<module>", 40)})));
    run.enter(region).exit().deep().called(later);
  }));
}

}  // namespace
}  // namespace castscope::rules::region_empty
