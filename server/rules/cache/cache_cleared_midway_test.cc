#include "server/rules/testing/rules_test.h"

namespace castscope::rules::cache_cleared_midway {
namespace {

using CacheClearedMidwayTest = RulesTest;

TEST_F(CacheClearedMidwayTest, X04_AWorkersRegionEndsWhileTheMainOneIsOpen) {
  expect_golden("cache_cleared_midway_worker_region_ends", judged([](TestRun& run) {
                  const auto mains = run.region("train.py", 5);
                  const auto weight = run.weight("train.py", 10, "fc");
                  const auto workers = run.region("worker.py", 7);
                  run.lane(1).enter(mains);
                  for (int i = 0; i < 3; ++i) {
                    run.lane(1).cast(weight, kWeight, true);
                    run.lane(2).enter(workers).exit();
                  }
                  run.lane(1).exit();
                }));
}

TEST_F(CacheClearedMidwayTest, X04_AWorkerWithoutARegion) {
  expect_none(judged([](TestRun& run) {
    const auto mains = run.region("train.py", 5);
    const auto weight = run.weight("train.py", 10, "fc");
    run.lane(1).enter(mains).cast(weight, kWeight, true);
    run.lane(2).step();
    run.lane(1).hit(weight, kWeight).exit();
  }));
}

// custom_bwd opens a region on the thread that opened the outer one: its end clears nothing, since it is nested.
TEST_F(CacheClearedMidwayTest, X04_ADecoratedBackwardOnTheSameThread) {
  expect_none(judged([](TestRun& run) {
    const auto mains = run.region("train.py", 5);
    auto info = TestRun::default_region();
    info.parent = mains;
    info.nesting = 2;
    const auto weight = run.weight("train.py", 10, "fc");
    const auto backwards = run.region("train.py", 20, info);
    run.enter(mains).cast(weight, kWeight, true).enter(backwards).exit().hit(weight, kWeight).exit();
  }));
}

TEST_F(CacheClearedMidwayTest, X04_OneThreadAfterTheOther) {
  expect_none(judged([](TestRun& run) {
    const auto mains = run.region("train.py", 5);
    const auto weight = run.weight("train.py", 10, "fc");
    const auto workers = run.region("worker.py", 7);
    run.lane(1).enter(mains).cast(weight, kWeight, true).exit();
    run.lane(2).enter(workers).cast(weight, kWeight, true).exit();
  }));
}

}  // namespace
}  // namespace castscope::rules::cache_cleared_midway
