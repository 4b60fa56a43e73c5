// Tests where a step ends, written as training loops. The process has no Python: an optimizer is known once it stepped.
#include "agent/session/steps.h"

#include <gtest/gtest.h>

namespace castscope::agent {
namespace {

class Loop {
 public:
  // Places in the code.
  static constexpr std::uint32_t kTraining = 1, kTeacher = 2, kEvaluation = 3;
  // One outermost region; returns the number of the step that it belongs to.
  std::uint32_t region(bool grad_mode, bool in_backward = false, std::uint32_t place = kTraining) {
    return enter({grad_mode, in_backward, false, written_, false, place});
  }
  // A region that a closure enters, called by the optimizer's step.
  std::uint32_t closure_region() { return enter({true, false, true, written_}); }
  std::uint32_t train_region() { return region(true); }
  std::uint32_t no_grad_region(std::uint32_t place = kEvaluation) { return region(false, false, place); }
  void optimizer() { steps_.optimizer_stepped(); }
  // An optimizer that steps in the eager way, and writes the weights.
  void eager_optimizer() {
    write();
    steps_.optimizer_ran();
  }
  void write() { written_ = true; }
  // An optimizer without a range of its own: only the versions of the weights tell of it.
  void compiled_optimizer() { write(); }
  Steps::Era other_thread_enters(bool grad_mode) {
    return steps_.outermost_enter(api_, {grad_mode, false, false, false}).era;
  }
  lanes::StepReason began() const { return began_; }
  Steps& steps() { return steps_; }

 private:
  std::uint32_t enter(const Steps::Entry& entry) {
    const Steps::Entered entered = steps_.outermost_enter(api_, entry);
    began_ = entered.step_begins ? entered.reason : lanes::StepReason{};
    written_ = false;
    steps_.outermost_exit(entered.era);
    return steps_.current();
  }

  PythonApi api_{};
  Steps steps_;
  lanes::StepReason began_{};
  bool written_ = false;
};

// The loop of castscope.amp: its region is only left for each backward pass, and entered anew.
class StandingLoop {
 public:
  StandingLoop() { enter(); }
  // A forward pass: autocast is asked for something. Returns the step that it belongs to.
  std::uint32_t forward() {
    const Steps::Entered asked = steps_.asked_in_standing_region(era_);
    era_ = asked.era;
    began_ += asked.step_begins ? 1 : 0;
    return steps_.current();
  }
  void backward() {
    steps_.outermost_exit(era_);
    enter();
  }
  void optimizer() { steps_.optimizer_ran(); }
  Steps& steps() { return steps_; }
  int began() const { return began_; }

 private:
  void enter() {
    const Steps::Entered entered = steps_.outermost_enter(api_, {true, false, false, false, true});
    EXPECT_FALSE(entered.step_begins);
    era_ = entered.era;
  }

  PythonApi api_{};
  Steps steps_;
  Steps::Era era_ = 0;
  int began_ = 0;
};

TEST(StepsTest, AStepBeginsInAStandingRegionWhenAutocastIsAskedAfterAnOptimizerStepped) {
  StandingLoop loop;
  for (std::uint32_t step = 0; step < 4; ++step) {
    EXPECT_EQ(loop.forward(), step);
    loop.backward();
    loop.optimizer();
  }
  EXPECT_EQ(loop.began(), 3);
  EXPECT_EQ(loop.steps().current(), 3u);  // and no step begins after the last one
}

TEST(StepsTest, SeveralLossesAndOptimizersInAStandingRegionAreOneStep) {
  StandingLoop loop;
  for (std::uint32_t step = 0; step < 4; ++step) {
    EXPECT_EQ(loop.forward(), step);
    loop.backward();
    EXPECT_EQ(loop.forward(), step);
    loop.backward();
    loop.optimizer();
    loop.backward();
    loop.optimizer();
  }
}

TEST(StepsTest, AStandingRegionIsOpenAsOneThatIsEnteredWhereItsStepBegins) {
  StandingLoop loop;
  loop.forward();
  EXPECT_TRUE(loop.steps().any_open());
  loop.optimizer();
  EXPECT_FALSE(loop.steps().any_open());
  loop.forward();
  EXPECT_TRUE(loop.steps().any_open());
}

TEST(StepsTest, ExplicitStepsCountAloneInAStandingRegion) {
  StandingLoop loop;
  loop.steps().explicit_step();
  loop.optimizer();
  EXPECT_EQ(loop.forward(), 1u);
}

TEST(StepsTest, AnOptimizerStepEndsTheStep) {
  Loop loop;
  for (std::uint32_t step = 0; step < 4; ++step) {
    EXPECT_EQ(loop.train_region(), step);
    loop.optimizer();
  }
  EXPECT_EQ(loop.began(), lanes::StepReason::kOptimizer);
}

TEST(StepsTest, SeveralOptimizersEndOneStep) {
  Loop loop;
  EXPECT_EQ(loop.train_region(), 0u);
  loop.optimizer();
  loop.optimizer();
  EXPECT_EQ(loop.train_region(), 1u);
}

TEST(StepsTest, TrainingStepsAreCountedOnceWhateverStepsInThem) {
  Loop loop;
  for (std::uint32_t step = 0; step < 4; ++step) {
    EXPECT_EQ(loop.steps().trained(), step);
    loop.train_region();
    loop.train_region();
    loop.optimizer();
    loop.optimizer();
  }
  EXPECT_EQ(loop.steps().trained(), 4u);
}

TEST(StepsTest, StepsOfCompiledOptimizersAreTrainingSteps) {
  Loop loop;
  loop.optimizer();
  for (std::uint32_t step = 0; step < 3; ++step) {
    loop.train_region();
    EXPECT_EQ(loop.steps().trained(), step);
    loop.compiled_optimizer();
  }
  EXPECT_TRUE(loop.steps().ended_with_unseen_step(true));
  EXPECT_FALSE(loop.steps().ended_with_unseen_step(false));
}

TEST(StepsTest, AccumulationGoesOn) {
  Loop loop;
  loop.train_region();
  loop.optimizer();
  for (std::uint32_t step = 1; step < 4; ++step) {
    for (int micro = 0; micro < 3; ++micro) EXPECT_EQ(loop.train_region(), step);
    loop.optimizer();
  }
}

TEST(StepsTest, WrittenWeightsAreAnOptimizerStep) {
  Loop loop;
  loop.train_region();
  loop.optimizer();
  for (std::uint32_t step = 1; step < 4; ++step) {
    for (int micro = 0; micro < 3; ++micro) EXPECT_EQ(loop.train_region(), step);
    EXPECT_EQ(loop.region(true, true), step);
    loop.compiled_optimizer();
  }
  EXPECT_EQ(loop.no_grad_region(), 4u);
  EXPECT_EQ(loop.began(), lanes::StepReason::kOptimizer);
}

TEST(StepsTest, WeightsSeenWrittenInBackwardEndTheStepAtTheNextRegion) {
  Loop loop;
  loop.train_region();
  loop.optimizer();
  EXPECT_EQ(loop.train_region(), 1u);
  loop.compiled_optimizer();
  EXPECT_EQ(loop.region(true, true), 1u);
  EXPECT_EQ(loop.train_region(), 2u);
}

TEST(StepsTest, WeightsWrittenWithoutAnOptimizerChangeNothing) {
  Loop loop;
  for (std::uint32_t step = 0; step < 4; ++step) {
    EXPECT_EQ(loop.train_region(), step);
    EXPECT_TRUE(step == 0 || loop.began() == lanes::StepReason::kRegionEnd);
    loop.compiled_optimizer();
  }
}

TEST(StepsTest, EveryRegionOfAnEvaluationIsAStep) {
  Loop loop;
  loop.train_region();
  loop.optimizer();
  for (std::uint32_t step = 1; step < 5; ++step) EXPECT_EQ(loop.no_grad_region(), step);
  EXPECT_EQ(loop.began(), lanes::StepReason::kRegionEnd);
  EXPECT_EQ(loop.train_region(), 5u);
}

TEST(StepsTest, ALossInARegionOfItsOwnBelongsToTheStep) {
  Loop loop;
  loop.train_region();
  loop.optimizer();
  for (std::uint32_t step = 1; step < 4; ++step) {
    EXPECT_EQ(loop.train_region(), step);
    EXPECT_EQ(loop.train_region(), step);
    loop.optimizer();
  }
}

TEST(StepsTest, ATeachersPassBelongsToTheStep) {
  Loop loop;
  loop.optimizer();  // a process without Python knows only from this that there is one
  for (std::uint32_t step = 0; step < 4; ++step) {
    EXPECT_EQ(loop.no_grad_region(Loop::kTeacher), step);
    EXPECT_EQ(loop.train_region(), step);
    loop.optimizer();
  }
}

// Features of several batches are made without gradients first, then each batch is run again with them (open_clip).
TEST(StepsTest, PassesThatEveryStepBeginsWithBelongToIt) {
  Loop loop;
  loop.optimizer();
  for (int pass = 0; pass < 2; ++pass) loop.no_grad_region(Loop::kTeacher);
  loop.train_region();
  const std::uint32_t first = loop.train_region();
  for (std::uint32_t step = first + 1; step < first + 4; ++step) {
    loop.optimizer();
    for (int pass = 0; pass < 2; ++pass) EXPECT_EQ(loop.no_grad_region(Loop::kTeacher), step);
    for (int pass = 0; pass < 2; ++pass) EXPECT_EQ(loop.train_region(), step);
  }
  loop.optimizer();
  EXPECT_EQ(loop.steps().trained(), 4u);
}

TEST(StepsTest, AnEvaluationOfOneBatchIsApart) {
  Loop loop;
  std::uint32_t number = 0;
  for (int step = 0; step < 6; ++step) {
    EXPECT_EQ(loop.train_region(), number++);
    loop.optimizer();
    if (step % 2 == 1) EXPECT_EQ(loop.no_grad_region(), number++);
  }
  EXPECT_EQ(loop.steps().trained(), 6u);
}

// The loop evaluates before the first step, and after every third one.
TEST(StepsTest, AnEvaluationBeforeTheFirstStepBelongsToNoStepLater) {
  Loop loop;
  loop.optimizer();
  loop.no_grad_region();
  std::uint32_t number = loop.no_grad_region() + 1;
  for (int step = 1; step < 7; ++step) {
    EXPECT_EQ(loop.train_region(), number++);
    loop.optimizer();
    if (step % 3 == 0)
      for (int batch = 0; batch < 2; ++batch) EXPECT_EQ(loop.no_grad_region(), number++);
  }
  EXPECT_EQ(loop.steps().trained(), 6u);
}

TEST(StepsTest, RegionsWithinBackwardEndNothing) {
  Loop loop;
  for (std::uint32_t step = 0; step < 4; ++step) {
    EXPECT_EQ(loop.train_region(), step);
    EXPECT_EQ(loop.region(true, true), step);
    loop.optimizer();
  }
}

TEST(StepsTest, WithoutAnOptimizerTheRegionIsTheStep) {
  Loop loop;
  for (std::uint32_t step = 0; step < 4; ++step) EXPECT_EQ(loop.train_region(), step);
}

TEST(StepsTest, WithoutAnOptimizerAFirstRegionWithoutGradModeIsAStepToo) {
  Loop loop;
  EXPECT_EQ(loop.no_grad_region(), 0u);
  EXPECT_EQ(loop.train_region(), 1u);
  EXPECT_EQ(loop.train_region(), 2u);
}

TEST(StepsTest, RegionsOfAClosureBelongToItsStep) {
  Loop loop;
  for (std::uint32_t step = 0; step < 5; ++step) {
    for (int evaluation = 0; evaluation < 4; ++evaluation) {
      EXPECT_EQ(loop.closure_region(), step);
      loop.write();
    }
    loop.eager_optimizer();
  }
  EXPECT_EQ(loop.train_region(), 5u);
}

TEST(StepsTest, WeightsWrittenBetweenEagerStepsChangeNothing) {
  Loop loop;
  loop.train_region();
  loop.eager_optimizer();
  for (std::uint32_t step = 1; step < 40; ++step) {
    EXPECT_EQ(loop.train_region(), step);
    loop.write();
    EXPECT_EQ(loop.train_region(), step);
    loop.write();
    loop.eager_optimizer();
  }
}

TEST(StepsTest, AnOptimizerThatIsCompiledLaterIsTold) {
  Loop loop;
  loop.train_region();
  loop.eager_optimizer();
  loop.train_region();
  for (int step = 0; step < 16; ++step) {
    loop.compiled_optimizer();
    EXPECT_EQ(loop.train_region(), 1u);
  }
  for (std::uint32_t step = 2; step < 6; ++step) {
    loop.compiled_optimizer();
    EXPECT_EQ(loop.train_region(), step);
  }
}

TEST(StepsTest, AnOptimizerBeforeTheFirstRegionEndsNothing) {
  Loop loop;
  loop.optimizer();
  EXPECT_EQ(loop.steps().trained(), 0u);
  EXPECT_EQ(loop.train_region(), 0u);
}

TEST(StepsTest, RegionsOfOtherThreadsWithinOneStepDoNotEndIt) {
  Loop loop;
  loop.train_region();
  loop.optimizer();
  const Steps::Era main = loop.other_thread_enters(true);
  const Steps::Era replica = loop.other_thread_enters(true);
  EXPECT_EQ(loop.steps().current(), 1u);
  loop.steps().outermost_exit(replica);
  loop.steps().outermost_exit(main);
  EXPECT_EQ(loop.steps().current(), 1u);
  loop.optimizer();
  EXPECT_EQ(loop.train_region(), 2u);
}

TEST(StepsTest, ARegionThatAnotherThreadNeverLeavesFreezesNothing) {
  for (const bool grad_mode : {false, true}) {
    Loop loop;
    loop.other_thread_enters(grad_mode);
    loop.train_region();
    for (std::uint32_t step = 1; step < 5; ++step) {
      loop.optimizer();
      EXPECT_EQ(loop.train_region(), step);
      EXPECT_EQ(loop.train_region(), step);
    }
  }
}

TEST(StepsTest, ALateExitIsOfNobodyElsesRegion) {
  Loop loop;
  const Steps::Era early = loop.other_thread_enters(true);
  loop.optimizer();
  const Steps::Era main = loop.other_thread_enters(true);
  loop.steps().outermost_exit(early);
  EXPECT_EQ(loop.no_grad_region(), 1u);  // within the main thread's region
  loop.steps().outermost_exit(main);
  loop.optimizer();
  EXPECT_EQ(loop.train_region(), 2u);
}

TEST(StepsTest, ExplicitStepsOverrideEverything) {
  Loop loop;
  loop.train_region();
  loop.optimizer();
  loop.steps().explicit_step();
  EXPECT_EQ(loop.train_region(), 1u);
  loop.optimizer();
  EXPECT_EQ(loop.no_grad_region(), 1u);
  loop.steps().explicit_step();
  EXPECT_EQ(loop.no_grad_region(), 2u);
  EXPECT_EQ(loop.steps().trained(), 3u);  // the first ended with an optimizer, two as the job said
}

}  // namespace
}  // namespace castscope::agent
