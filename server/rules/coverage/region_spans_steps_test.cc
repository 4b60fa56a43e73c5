#include "server/rules/testing/rules_test.h"

namespace castscope::rules::region_spans_steps {
namespace {

using RegionSpansStepsTest = RulesTest;

// Opens a region around a loop. Each step is given by what it does with the weight; backward and an optimizer step
// follow.
void loop(TestRun& run, const std::vector<std::function<void(std::uint32_t weight)>>& steps) {
  const auto region = run.region("train.py", 5);
  const auto weight = run.weight("train.py", 10, "fc");
  const auto backward = run.fact(FactKind::kBackward, 12, {.subject = region, .text = ""});
  run.enter(region);
  for (const auto& step : steps) {
    step(weight);
    run.backward(backward).optimizer();
  }
  run.exit();
}

TEST_F(RegionSpansStepsTest, LoopInsideARegion) {
  expect_golden("region_spans_steps_loop_in_region", judged([](TestRun& run) {
                  const auto cast = [&](std::uint32_t weight) { run.cast(weight, kWeight, true); };
                  const auto hit = [&](std::uint32_t weight) { run.hit(weight, kWeight); };
                  loop(run, {cast, hit, hit, hit, hit});
                }));
}

const Finding& one_of(const std::vector<Finding>& findings) {
  for (const Finding& finding : findings)
    if (finding.rule == "region-spans-steps") return finding;
  ADD_FAILURE() << "region-spans-steps says nothing";
  static const Finding none;
  return none;
}

// torch.clear_autocast_cache(), or a handle's _clear_cache(), after each step: every weight is cast anew.
TEST_F(RegionSpansStepsTest, TheCacheIsClearedAfterEachStep) {
  const auto findings = judged([](TestRun& run) {
    const auto anew = [&](std::uint32_t weight) { run.clear().cast(weight, kWeight, true); };
    loop(run, {anew, anew, anew, anew});
  });
  const Finding& finding = one_of(findings);
  EXPECT_EQ(finding.severity, "info");
  EXPECT_EQ(finding.title,
            "one autocast region is open over 4 optimizer steps: its cache was cleared 4 times meanwhile, and no hit "
            "gave a copy of a weight from before the latest step");
}

TEST_F(RegionSpansStepsTest, TheCacheIsClearedAfterSomeSteps) {
  const auto findings = judged([](TestRun& run) {
    const auto anew = [&](std::uint32_t weight) { run.clear().cast(weight, kWeight, true); };
    const auto hit = [&](std::uint32_t weight) { run.hit(weight, kWeight); };
    loop(run, {anew, hit, anew, hit, hit});
  });
  const Finding& finding = one_of(findings);
  EXPECT_EQ(finding.severity, "warning");
  EXPECT_EQ(finding.title,
            "one autocast region is open over 5 optimizer steps: 3 cache hits gave a copy of a weight from before the "
            "latest step, though its cache was cleared 2 times meanwhile");
}

// A hit within the step that made the copy serves no old value.
TEST_F(RegionSpansStepsTest, HitsOfFreshCopies) {
  const auto findings = judged([](TestRun& run) {
    const auto anew = [&](std::uint32_t weight) { run.clear().cast(weight, kWeight, true).hit(weight, kWeight); };
    loop(run, {anew, anew, anew});
  });
  EXPECT_EQ(one_of(findings).severity, "info");
}

// The weights are not kept: nothing clears a cache that is empty.
TEST_F(RegionSpansStepsTest, NothingIsKept) {
  const auto findings = judged([](TestRun& run) {
    const auto cast = [&](std::uint32_t weight) { run.cast(weight, kWeight); };
    loop(run, {cast, cast, cast});
  });
  const Finding& finding = one_of(findings);
  EXPECT_EQ(finding.severity, "warning");
  EXPECT_EQ(finding.title,
            "one autocast region is open over 3 optimizer steps: nothing cleared its cache, though no hit gave a copy "
            "of a weight from before the latest step");
}

// The finding does not say what the missing events would have shown.
TEST_F(RegionSpansStepsTest, SomeEventsAreMissing) {
  const auto findings = judged([](TestRun& run) {
    const auto anew = [&](std::uint32_t weight) { run.clear().cast(weight, kWeight, true); };
    loop(run, {anew, anew, anew});
    run.flush().hit(run.weight("train.py", 10, "fc"), kWeight).drop();
  });
  const Finding& finding = one_of(findings);
  EXPECT_EQ(finding.severity, "warning");
  EXPECT_NE(finding.title.find(", as far as its events are known"), std::string::npos) << finding.title;
}

TEST_F(RegionSpansStepsTest, ARegionPerStep) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto weight = run.weight("train.py", 10, "fc");
    for (int i = 0; i < 5; ++i) run.enter(region).cast(weight, kWeight, true).exit().optimizer();
  }));
}

TEST_F(RegionSpansStepsTest, ManyForwardPassesInOneRegion) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto weight = run.weight("train.py", 10, "fc");
    run.enter(region).cast(weight, kWeight, true);
    for (int i = 0; i < 9; ++i) run.hit(weight, kWeight);
    run.exit().optimizer();
  }));
}

// Two optimizers with parameters of their own take one training step.
TEST_F(RegionSpansStepsTest, SeveralOptimizersInARow) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto weight = run.weight("train.py", 10, "fc");
    for (int i = 0; i < 3; ++i) run.enter(region).cast(weight, kWeight, true).optimizer().optimizer().exit();
  }));
}

TEST_F(RegionSpansStepsTest, WithoutACacheNothingIsOld) {
  expect_none(judged([](TestRun& run) {
    auto info = TestRun::default_region();
    info.cache_enabled = false;
    const auto region = run.region("train.py", 5, info);
    const auto input = run.input("train.py", 10, "fc");
    run.enter(region);
    for (int i = 0; i < 5; ++i) run.cast(input, kOther + i).optimizer();
    run.exit();
  }));
}

TEST_F(RegionSpansStepsTest, ADisabledRegion) {
  expect_none(judged([](TestRun& run) {
    auto info = TestRun::default_region();
    info.enabled = false;
    run.enter(run.region("train.py", 5, info));
    const auto backward = run.fact(FactKind::kBackward, 12);
    for (int i = 0; i < 5; ++i) run.backward(backward).optimizer();
    run.exit();
  }));
}

TEST_F(RegionSpansStepsTest, TheOutermostOneIsTold) {
  const auto findings = judged([](TestRun& run) {
    const auto outer = run.region("train.py", 5);
    auto info = TestRun::default_region();
    info.parent = outer;
    info.nesting = 2;
    const auto inner = run.region("train.py", 6, info);
    const auto weight = run.weight("train.py", 10, "fc");
    run.enter(outer).enter(inner).cast(weight, kWeight, true).optimizer();
    run.hit(weight, kWeight).optimizer().exit().exit();
  });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].location->line, 5);
}

}  // namespace
}  // namespace castscope::rules::region_spans_steps
