#include "server/store/trackers/scaler_tracker.h"

#include <gtest/gtest.h>

#include <limits>

namespace castscope::store {
namespace {

constexpr StackId kUnscaleStack(10), kOtherStack(11);
constexpr FactId kUpdateFact(20), kOtherUpdate(21), kStepFact(30), kOtherStep(31), kClipFact(40);

class ScalerTrackerTest : public testing::Test {
 protected:
  ScalerUse use() {
    ScalerUse use;
    tracker_.take(&use);
    return use;
  }
  // As scaler.scale(loss).backward(), scaler.step(optimizer), scaler.update() do it.
  void round(double before = 65536, double after = 65536, bool not_finite = false) {
    tracker_.backward(1);
    scaler_step(not_finite);
    tracker_.update(1, kUpdateFact, before, after);
  }
  void scaler_step(bool not_finite = false, StackId stack = kUnscaleStack) {
    tracker_.unscale(1, stack, not_finite);
    if (!not_finite) tracker_.optimizer_step(1, kStepFact, true);
  }
  void expect_nothing_out_of_place() {
    EXPECT_EQ(use().update_between_backwards, 0u);
    EXPECT_EQ(use().step_past_scaler, 0u);
    EXPECT_EQ(use().clip_before_unscale, 0u);
  }

  ScalerTracker tracker_;
};

TEST_F(ScalerTrackerTest, AnOrderlyLoopIsCountedAndNothingElse) {
  for (int i = 0; i < 5; ++i) round();
  EXPECT_EQ(use().updates, 5u);
  EXPECT_EQ(use().unscales, 5u);
  EXPECT_EQ(use().not_finite, 0u);
  EXPECT_EQ(use().longest_skips, 0u);
  EXPECT_EQ(use().last_update, kUpdateFact);
  expect_nothing_out_of_place();
}

TEST_F(ScalerTrackerTest, WhatIsNewIsTakenOnce) {
  ScalerUse use;
  EXPECT_FALSE(tracker_.take(&use));
  round();
  EXPECT_TRUE(tracker_.take(&use));
  EXPECT_FALSE(tracker_.take(&use));
  EXPECT_EQ(use.updates, 1u);
}

TEST_F(ScalerTrackerTest, StepsThatADeviceHadSkippedAreCounted) {
  for (const bool skipped : {true, true, false}) {
    tracker_.backward(1);
    tracker_.unscale(1, kUnscaleStack, false);
    if (skipped)
      tracker_.not_stepped(1);
    else
      tracker_.optimizer_step(1, kStepFact, true);
    tracker_.update(1, kUpdateFact, 0, 0);
  }
  EXPECT_EQ(use().unscales, 3u);
  EXPECT_EQ(use().not_finite, 0u) << "nobody read it";
  EXPECT_EQ(use().longest_skips, 2u);
  expect_nothing_out_of_place();
}

TEST_F(ScalerTrackerTest, SkipsInARowAreCounted) {
  round(65536, 32768, true);
  round(32768, 32768);
  for (double scale = 32768; scale > 4096; scale /= 2) round(scale, scale / 2, true);  // 3 of them
  round(4096, 8192);
  EXPECT_EQ(use().not_finite, 4u);
  EXPECT_EQ(use().longest_skips, 3u);
  EXPECT_EQ(use().first_scale, 65536);
  EXPECT_EQ(use().last_scale, 8192);
  EXPECT_EQ(use().least_scale, 4096);
  expect_nothing_out_of_place();
}

TEST_F(ScalerTrackerTest, AScaleThatIsNotKnownIsNone) {
  round(0, 0);
  round(std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity());
  round(-1, 0);
  EXPECT_EQ(use().first_scale, 0);
  EXPECT_EQ(use().least_scale, 0);
}

// GradScaler makes an event for each device and dtype among the gradients of an optimizer.
TEST_F(ScalerTrackerTest, EventsOfOneCallAreOneUnscale) {
  tracker_.backward(1);
  for (const bool not_finite : {false, true, true}) tracker_.unscale(1, kUnscaleStack, not_finite);
  tracker_.update(1, kUpdateFact, 2, 1);
  EXPECT_EQ(use().unscales, 1u);
  EXPECT_EQ(use().not_finite, 1u);
  EXPECT_EQ(use().longest_skips, 1u);
}

// Gradients of 1024 are added to gradients of 2048.
TEST_F(ScalerTrackerTest, AnUpdateBetweenBackwardsIsOutOfPlace) {
  tracker_.backward(1);
  tracker_.update(1, kUpdateFact, 2048, 1024);
  EXPECT_EQ(use().update_between_backwards, 0u) << "only the next backward adds to them";
  tracker_.backward(1);
  EXPECT_EQ(use().update_between_backwards, kUpdateFact);
  scaler_step();
  tracker_.update(1, kOtherUpdate, 1024, 1024);
  EXPECT_EQ(use().update_between_backwards, kUpdateFact) << "the first one stays";
}

TEST_F(ScalerTrackerTest, AnUpdateBetweenBackwardsOfUnscaledGradientsIsOutOfPlaceToo) {
  tracker_.backward(1);
  tracker_.unscale(1, kUnscaleStack, false);
  tracker_.update(1, kUpdateFact, 1024, 1024);
  tracker_.backward(1);
  EXPECT_EQ(use().update_between_backwards, kUpdateFact);
}

TEST_F(ScalerTrackerTest, GradientsMayAccumulate) {
  for (int i = 0; i < 3; ++i) {
    for (int n = 0; n < 4; ++n) tracker_.backward(1);
    scaler_step();
    tracker_.update(1, kUpdateFact, 1, 1);
  }
  expect_nothing_out_of_place();
}

// Several losses, each with its optimizer, one update for all of them or one for each.
TEST_F(ScalerTrackerTest, SeveralOptimizersMayTakeTurns) {
  for (const bool update_each : {false, true}) {
    for (int i = 0; i < 3; ++i) {
      for (const StackId unscaling : {kUnscaleStack, kOtherStack}) {
        tracker_.backward(1);
        scaler_step(false, unscaling);
        if (update_each) tracker_.update(1, kUpdateFact, 1, 1);
      }
      if (!update_each) tracker_.update(1, kUpdateFact, 1, 1);
    }
  }
  expect_nothing_out_of_place();
}

// The second of two optimizers steps past the scaler, in either order.
TEST_F(ScalerTrackerTest, AStepPastTheScalerIsOutOfPlace) {
  for (const bool first : {false, true}) {
    tracker_ = ScalerTracker();
    tracker_.backward(1);
    if (first) tracker_.optimizer_step(1, kOtherStep, false);
    scaler_step();
    if (!first) tracker_.optimizer_step(1, kOtherStep, false);
    tracker_.update(1, kUpdateFact, 1, 1);
    EXPECT_EQ(use().step_past_scaler, kOtherStep);
  }
}

// A control: what unscale_ has unscaled may be stepped with.
TEST_F(ScalerTrackerTest, AStepOfUnscaledGradientsIsInPlace) {
  tracker_.backward(1);
  tracker_.unscale(1, kUnscaleStack, false);
  tracker_.unscale(1, kOtherStack, false);
  tracker_.optimizer_step(1, kStepFact, true);
  tracker_.optimizer_step(1, kOtherStep, false);
  tracker_.update(1, kUpdateFact, 1, 1);
  expect_nothing_out_of_place();
}

// A model beside it that is trained without a scaler: its own backward, its own step.
TEST_F(ScalerTrackerTest, AStepOfAnotherModelIsInPlace) {
  for (int i = 0; i < 3; ++i) {
    round();
    tracker_.backward(1);
    tracker_.optimizer_step(1, kOtherStep, false);
    tracker_.backward(1);
    scaler_step();
    tracker_.backward(1);
    tracker_.optimizer_step(1, kOtherStep, false);
    tracker_.update(1, kUpdateFact, 1, 1);
  }
  expect_nothing_out_of_place();
}

// The norm that is clipped is that of scaled gradients.
TEST_F(ScalerTrackerTest, AClipBeforeUnscaleIsOutOfPlace) {
  tracker_.scale(1);
  tracker_.backward(1);
  tracker_.clip(1, kClipFact);
  EXPECT_EQ(use().clip_before_unscale, kClipFact);
  EXPECT_EQ(use().scales, 1u);
}

TEST_F(ScalerTrackerTest, AClipOfUnscaledGradientsIsInPlace) {
  tracker_.scale(1);
  tracker_.backward(1);
  tracker_.unscale(1, kUnscaleStack, false);
  tracker_.clip(1, kClipFact);
  tracker_.optimizer_step(1, kStepFact, true);
  tracker_.update(1, kUpdateFact, 1, 1);
  tracker_.backward(1);  // of another model, whose loss nobody scaled
  tracker_.clip(1, kClipFact);
  tracker_.optimizer_step(1, kOtherStep, false);
  expect_nothing_out_of_place();
}

// Each loss was scaled, and nothing unscales at all.
TEST_F(ScalerTrackerTest, AStepWithGradientsOfScaledLossesIsOutOfPlace) {
  tracker_.scale(1);
  tracker_.backward(1);
  tracker_.optimizer_step(1, kOtherStep, false);
  EXPECT_EQ(use().step_past_scaler, kOtherStep);
}

// Two losses, one of them scaled: whose gradients a step takes is not known.
TEST_F(ScalerTrackerTest, AStepMayTakeGradientsOfALossThatWasNotScaled) {
  for (const bool deep : {false, true}) {
    tracker_ = ScalerTracker();
    if (deep) tracker_.scale(1);
    tracker_.backward(1);
    tracker_.backward(1);
    tracker_.clip(1, kClipFact);
    scaler_step();
    tracker_.optimizer_step(1, kOtherStep, false);
    tracker_.update(1, kUpdateFact, 1, 1);
    expect_nothing_out_of_place();
  }
}

TEST_F(ScalerTrackerTest, AJobWithoutAScalerUsesNone) {
  for (int i = 0; i < 3; ++i) {
    tracker_.backward(1);
    tracker_.optimizer_step(1, kOtherStep, false);
  }
  ScalerUse use;
  EXPECT_FALSE(tracker_.take(&use));
}

TEST_F(ScalerTrackerTest, ThreadsAreJudgedEachByItsOwnOrder) {
  tracker_.backward(1);
  tracker_.update(2, kUpdateFact, 1, 1);
  tracker_.backward(1);
  tracker_.optimizer_step(2, kOtherStep, false);
  tracker_.unscale(1, kUnscaleStack, false);
  expect_nothing_out_of_place();
}

// The optimizer step between the two backwards may be among the events that are missing.
TEST_F(ScalerTrackerTest, NothingIsMadeOfTheOrderAroundAGap) {
  tracker_.backward(1);
  tracker_.update(1, kUpdateFact, 1, 1);
  tracker_.break_off(1);
  tracker_.backward(1);
  expect_nothing_out_of_place();
  tracker_.update(1, kUpdateFact, 1, 1);
  tracker_.backward(1);
  tracker_.break_off(1);  // told of only now
  expect_nothing_out_of_place();
}

TEST_F(ScalerTrackerTest, AnotherThreadInTheLaneBeginsAnewAndWhatWasSeenStays) {
  tracker_.backward(1);
  tracker_.update(1, kUpdateFact, 1, 1);
  tracker_.thread_begins(1);
  tracker_.backward(1);
  expect_nothing_out_of_place();
  tracker_.update(1, kUpdateFact, 1, 1);
  tracker_.backward(1);
  tracker_.thread_begins(1);
  EXPECT_EQ(use().update_between_backwards, kUpdateFact);
}

TEST_F(ScalerTrackerTest, GoesOnFromAnEarlierLife) {
  ScalerUse earlier;
  earlier.updates = 7;
  earlier.longest_skips = 4;
  earlier.first_scale = 65536;
  earlier.least_scale = 2;
  earlier.step_past_scaler = kOtherStep;
  tracker_.adopt(earlier);
  round(8, 8);
  EXPECT_EQ(use().updates, 8u);
  EXPECT_EQ(use().longest_skips, 4u);
  EXPECT_EQ(use().first_scale, 65536);
  EXPECT_EQ(use().last_scale, 8);
  EXPECT_EQ(use().least_scale, 2);
  EXPECT_EQ(use().step_past_scaler, kOtherStep);
}

}  // namespace
}  // namespace castscope::store
