// Tests what is known of regions beside their casts.
#include "server/store/testing/run_store_test.h"

namespace castscope::store {
namespace {

using RegionUseTest = RunStoreTest;

TEST_F(RegionUseTest, RegionsKnowTheOptimizerStepsOfOneStay) {
  auto store = create();
  TestRun run(*store);
  RegionInfo nested = TestRun::default_region();
  nested.parent = 1;
  const std::uint32_t whole = run.region("train.py", 5), inner = run.region("train.py", 7, nested),
                      step = run.region("train.py", 9);
  run.enter(whole);
  for (int i = 0; i < 3; ++i) run.enter(inner).exit().optimizer().flush();
  run.exit();
  run.enter(step).optimizer().exit().optimizer().optimizer().enter(step).exit();
  run.lane(2).optimizer();
  run.end();
  ASSERT_TRUE(store->close().ok());
  const RunData data = read();
  ASSERT_EQ(data.region_uses.size(), 3u);
  EXPECT_EQ(data.region_uses[whole - 1].most_optimizer_steps, 3u);
  EXPECT_EQ(data.region_uses[inner - 1].most_optimizer_steps, 0u);
  EXPECT_EQ(data.region_uses[step - 1].most_optimizer_steps, 1u);
  EXPECT_EQ(query("SELECT most_optimizer_steps_in_stay FROM v_regions WHERE line = 5"), 3);
}

// Several optimizers, each with parameters of its own, take one training step.
TEST_F(RegionUseTest, OptimizerStepsInARowAreOne) {
  auto store = create();
  TestRun run(*store);
  const std::uint32_t region = run.region("train.py", 5);
  const std::uint32_t weight = run.weight("train.py", 10, "fc"), backward = run.fact(lanes::FactKind::kBackward, 12);
  run.enter(region).cast(weight, kTensor, true).optimizer().optimizer();
  run.hit(weight, kTensor).optimizer().optimizer();
  run.backward(backward).optimizer().exit();
  run.end();
  ASSERT_TRUE(store->close().ok());
  EXPECT_EQ(read().region_uses.at(0).most_optimizer_steps, 3u);
}

// An optimizer's step makes copies old that were made before it and not cleared since.
TEST_F(RegionUseTest, HitsOfCopiesFromBeforeAStepAreCounted) {
  auto store = create();
  TestRun run(*store);
  const std::uint32_t region = run.region("train.py", 5);
  const std::uint32_t weight = run.weight("train.py", 10, "fc"), other = run.weight("train.py", 11, "fc");
  run.enter(region).cast(weight, kTensor, true).hit(weight, kTensor).optimizer();
  run.hit(other, kTensor).optimizer();                                        // one, at another line
  run.clear().cast(weight, kTensor, true).hit(weight, kTensor).optimizer();   // none
  run.clear().cast(weight, kTensor, true).hit(weight, kTensor).exit();        // none
  run.enter(region).cast(weight, kTensor, true).hit(weight, kTensor).exit();  // another stay
  run.end();
  ASSERT_TRUE(store->close().ok());
  const RunData data = read();
  ASSERT_EQ(data.region_uses.size(), 1u);
  EXPECT_EQ(data.region_uses[0].most_optimizer_steps, 3u);
  EXPECT_EQ(data.region_uses[0].clears_within, 2u);
  EXPECT_EQ(data.region_uses[0].old_hits, 1u);
}

// A region per step, whose ends and begins were dropped, is not one region over many steps.
TEST_F(RegionUseTest, AStayOfWhichSomeIsMissingIsNotCountedOn) {
  auto store = create();
  TestRun run(*store);
  const std::uint32_t region = run.region("train.py", 5);
  run.enter(region).optimizer().flush();
  run.exit().enter(region).drop();
  run.optimizer();
  run.end();
  ASSERT_TRUE(store->close().ok());
  EXPECT_EQ(read().region_uses.at(0).most_optimizer_steps, 1u);
}

TEST_F(RegionUseTest, ARegionsEndThatClearsWhatAnotherThreadKeptIsCounted) {
  for (const bool nested : {false, true}) {
    auto store = create({.overwrite = true});
    TestRun run(*store);
    const std::uint32_t mains = run.region("train.py", 5), workers = run.region("worker.py", 7);
    const std::uint32_t weight = run.weight("train.py", 10, "fc");
    for (int i = 0; i < 3; ++i) {
      run.lane(1).enter(mains).cast(weight, kTensor, true);
      if (nested) run.lane(2).enter(workers).exit();
      run.lane(1).exit();
      if (!nested) run.lane(2).enter(workers).exit();
      run.flush();
    }
    run.end();
    ASSERT_TRUE(store->close().ok());
    const RunData data = read();
    EXPECT_EQ(data.region_uses.at(1).region, workers);
    EXPECT_EQ(data.region_uses.at(1).cleared_midway, nested ? 3u : 0u);
    EXPECT_EQ(data.region_uses.at(0).cleared_midway, 0u);
  }
}

TEST_F(RegionUseTest, WhatARegionWasAskedForIsKept) {
  auto store = create();
  TestRun run(*store);
  RegionInfo silent = TestRun::default_region();
  silent.enabled = false;
  silent.flags = lanes::kRegionAskedEnabled | lanes::kRegionNoDevice | lanes::kRegionDefaultDtype;
  run.region("train.py", 5, silent);
  silent.flags = 0;
  run.region("train.py", 5, silent);  // another one at the same place: the code asked for it
  run.end();
  ASSERT_TRUE(store->close().ok());
  const RunData data = read();
  ASSERT_EQ(data.regions.size(), 2u);
  EXPECT_EQ(data.regions.front().flags,
            lanes::kRegionAskedEnabled | lanes::kRegionNoDevice | lanes::kRegionDefaultDtype);
  EXPECT_EQ(data.regions[RegionId(2)].flags, 0);
  EXPECT_EQ(query("SELECT asked_enabled AND dtype_by_default FROM v_regions WHERE region = 1"), 1);
  EXPECT_EQ(query("SELECT asked_enabled OR dtype_by_default FROM v_regions WHERE region = 2"), 0);
}

// `h = f(h); h = f(h)` on one line: two places in the code, and one line.
TEST_F(RegionUseTest, EvidenceOfPlacesThatAreOneLineCountsTogether) {
  auto store = create();
  TestRun run(*store);
  const std::uint32_t region = run.region("train.py", 5);
  const std::uint32_t first = run.weight("train.py", 10, "fc", lanes::WhyNotCached::kNoRequiresGrad),
                      second = run.weight("train.py", 10, "fc", lanes::WhyNotCached::kNoRequiresGrad);
  ASSERT_NE(first, second);
  for (int i = 0; i < 12; ++i) run.enter(region).cast(first, kTensor).cast(second, kTensor).exit().flush();
  run.end();
  ASSERT_TRUE(store->close().ok());
  const RunData data = read();
  ASSERT_EQ(data.site_uses.size(), 1u);
  EXPECT_EQ(data.site_uses[0].counts.casts, 24u);
  EXPECT_EQ(data.site_uses[0].evidence.most_in_region, 2u);
  EXPECT_EQ(data.site_uses[0].evidence.same_source, 12u);
}

// A counter's ticks and those of single events are turned into ns at different times.
TEST_F(RegionUseTest, TheTimesOfStepsAddUpToThoseOfSites) {
  auto store = create();
  TestRun run(*store);
  const std::uint32_t region = run.region("train.py", 5), weight = run.weight("train.py", 10, "fc");
  for (int step = 0; step < 3; ++step) run.enter(region).cast(weight, kTensor, true, 1000, 333).exit().step();
  run.counter(weight).cpu_ns += 7;
  run.end();
  ASSERT_TRUE(store->close().ok());
  EXPECT_EQ(query("SELECT sum(cpu_ns) FROM step_runs"), 3 * 333 + 7);
  EXPECT_EQ(query("SELECT sum(cpu_ns) FROM counters"), 3 * 333 + 7);
}

}  // namespace
}  // namespace castscope::store
