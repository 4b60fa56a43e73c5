#include "server/store/trackers/step_tracker.h"

#include <gtest/gtest.h>

namespace castscope::store {
namespace {

// Lanes that do things in steps, and what the tracker makes of it.
class StepTrackerTest : public ::testing::Test {
 protected:
  void cast(std::uint32_t lane, std::uint32_t step, std::uint32_t site = 1) {
    lanes::Event event{};
    event.kind = lanes::EventKind::kCast;
    event.step = step;
    event.site = site;
    event.time = ++time_;
    tracker_.at(lane, event).cast(event);
  }
  void mark(std::uint32_t step, lanes::EventKind kind) {
    lanes::Event event{};
    event.kind = kind;
    event.step = step;
    event.time = ++time_;
    LaneSteps& steps = tracker_.at(1, event);
    kind == lanes::EventKind::kOptimizer ? steps.optimizer(event) : steps.other(event);
  }
  void settle(bool all = false) {
    tracker_.settle(all, [&](std::uint32_t step, StepWork&& work) {
      work.order();
      settled_.emplace_back(step, std::move(work));
    });
  }
  std::vector<std::uint32_t> numbers() const {
    std::vector<std::uint32_t> numbers;
    for (const auto& [step, work] : settled_) numbers.push_back(step);
    return numbers;
  }

  StepTracker tracker_;
  std::vector<std::pair<std::uint32_t, StepWork>> settled_;
  std::uint64_t time_ = 0;
};

TEST_F(StepTrackerTest, LanesOfOneStepAreOneStepHoweverFarTheyAreReadApart) {
  for (std::uint32_t step = 0; step < 500; ++step) cast(1, step);
  for (std::uint32_t step = 0; step < 500; ++step) cast(2, step);
  settle(true);
  ASSERT_EQ(settled_.size(), 500u);
  for (const auto& [step, work] : settled_) {
    ASSERT_EQ(work.sites.size(), 1u);
    EXPECT_EQ(work.sites[0].casts, 2u);
    EXPECT_FALSE(work.incomplete);
  }
  EXPECT_TRUE(tracker_.take_late().empty());
}

// castscope.step() after each of three steps begins a fourth, inside the region that is then left.
TEST_F(StepTrackerTest, ALastStepInWhichNothingWasBegunIsNone) {
  for (std::uint32_t step = 0; step < 3; ++step) {
    cast(1, step);
    mark(step + 1, lanes::EventKind::kStep);
    mark(step + 1, lanes::EventKind::kRegionExit);
  }
  settle(true);
  EXPECT_EQ(numbers(), (std::vector<std::uint32_t>{0, 1, 2}));
}

TEST_F(StepTrackerTest, ALastStepOfAnOptimizerAloneIsOne) {
  cast(1, 0);
  mark(1, lanes::EventKind::kStep);
  mark(1, lanes::EventKind::kOptimizer);
  settle(true);
  EXPECT_EQ(numbers(), (std::vector<std::uint32_t>{0, 1}));
}

TEST_F(StepTrackerTest, AnEmptyStepBetweenOthersIsOne) {
  cast(1, 0);
  mark(1, lanes::EventKind::kStep);
  cast(1, 2);
  settle(true);
  EXPECT_EQ(numbers(), (std::vector<std::uint32_t>{0, 1, 2}));
}

TEST_F(StepTrackerTest, AStepStaysOpenUntilEveryLaneHadItsTurn) {
  cast(1, 0);
  cast(1, 1);
  settle();
  cast(2, 0);
  for (int i = 0; i < 3; ++i) settle();
  EXPECT_TRUE(settled_.empty());
  settle();
  EXPECT_EQ(numbers(), std::vector<std::uint32_t>{0});
  EXPECT_EQ(settled_[0].second.sites[0].casts, 2u);
}

TEST_F(StepTrackerTest, WhatComesTooLateIsToldOnce) {
  cast(1, 0);
  cast(1, 1);
  for (int i = 0; i < 5; ++i) settle();
  cast(2, 0);
  cast(2, 1);
  settle(true);
  EXPECT_EQ(numbers(), (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(tracker_.take_late(), std::vector<std::uint32_t>{0});
  EXPECT_TRUE(tracker_.take_late().empty());
}

TEST_F(StepTrackerTest, AGapTouchesTheStepsAroundItOnly) {
  for (std::uint32_t step = 0; step < 3; ++step) cast(1, step);
  tracker_.dropped(1);
  for (std::uint32_t step = 5; step < 8; ++step) cast(1, step);
  settle(true);
  std::vector<std::uint32_t> incomplete;
  for (const auto& [step, work] : settled_) {
    if (work.incomplete) incomplete.push_back(step);
  }
  EXPECT_EQ(incomplete, (std::vector<std::uint32_t>{2, 5}));
}

// A lane without a ring: all it did is dropped, so no step it may have worked in is whole.
TEST_F(StepTrackerTest, DropsOfALaneThatIsNeverSeenTouchTheStepsOfTheOthers) {
  for (std::uint32_t step = 0; step < 3; ++step) cast(1, step);
  tracker_.dropped(2);
  for (std::uint32_t step = 3; step < 6; ++step) cast(1, step);
  settle(true);
  std::vector<std::uint32_t> incomplete;
  for (const auto& [step, work] : settled_) {
    if (work.incomplete) incomplete.push_back(step);
  }
  EXPECT_EQ(incomplete, (std::vector<std::uint32_t>{0, 1, 2}));
}

TEST_F(StepTrackerTest, AStepNoneOfWhoseEventsCameHasATimeAllTheSame) {
  tracker_.dropped(1);
  settle(true);
  ASSERT_EQ(settled_.size(), 1u);
  EXPECT_EQ(settled_[0].second.begin_ns, 0);
  EXPECT_EQ(settled_[0].second.end_ns, 0);
}

TEST_F(StepTrackerTest, FingerprintsDependOnWhatWasDoneNotOnOrderOrTime) {
  cast(1, 0, 7);
  cast(1, 0, 3);
  cast(1, 1, 3);
  cast(2, 1, 7);
  cast(1, 2, 3);
  settle(true);
  EXPECT_EQ(settled_[0].second.fingerprint(), settled_[1].second.fingerprint());
  EXPECT_NE(settled_[0].second.fingerprint(), settled_[2].second.fingerprint());
}

// Looking at operators takes time, which is not the job's.
TEST(StepRunsTest, DeepStepsAreNoMeasureOfTheOthers) {
  StepRuns runs;
  StepWork work;
  work.begin_ns = 0;
  runs.begin(ProcessId(1), 0, work, 7, 1);
  for (std::uint32_t step = 0; step < 5; ++step) {
    work.deep = step < 3;
    work.end_ns = work.deep ? 9000 : 1000;
    runs.append(step, work, 7);
    EXPECT_EQ(runs.median_ns(), work.end_ns);
  }
}

TEST(MedianTimeTest, AFewOutliersChangeNothing) {
  MedianTime median;
  EXPECT_EQ(median.ns(), 0);
  for (int i = 0; i < 10'000; ++i) median.add(i < 100 ? 1'000'000 : 500 + i % 3);
  EXPECT_NEAR(static_cast<double>(median.ns()), 501, 1);
}

TEST(StepRunsTest, TrainingStepsAndEvaluationsAreNotOneRun) {
  StepRuns runs;
  StepWork training, evaluation;
  training.optimizer = true;
  runs.begin(ProcessId(1), 0, training, 7, 1);
  runs.append(0, training, 7);
  EXPECT_TRUE(runs.continues(1, training, 7));
  EXPECT_FALSE(runs.continues(1, evaluation, 7));
  runs.begin(ProcessId(1), 1, evaluation, 7, 1);
  runs.append(1, evaluation, 7);
  EXPECT_FALSE(runs.continues(2, training, 7));
  EXPECT_TRUE(runs.continues(2, evaluation, 7));
}

// Fingerprints lie in files: a file continued by another build must find its behaviours again.
TEST_F(StepTrackerTest, FingerprintsNeverChange) {
  StepWork work;
  work.sites = {{.site = 1, .casts = 2, .hits = 3}};
  work.enters = {{4, 1}};
  work.clears = 1;
  work.cache_bytes = 4096;
  EXPECT_EQ(work.fingerprint(), 0xd3592e54bb24f531u);
}

}  // namespace
}  // namespace castscope::store
