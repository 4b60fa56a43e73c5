#include "server/store/run/step_numbers.h"

#include <gmock/gmock.h>

#include "server/store/testing/run_store_test.h"

namespace castscope::store {
namespace {

using ::testing::ElementsAre;

class StepNumbersTest : public ::testing::Test {
 protected:
  StepNumbersTest() { process(); }
  void process() {
    const auto number = static_cast<std::uint32_t>(data_.processes.size() + 1);
    Process& process = data_.processes.emplace_back();
    process.id = ProcessId(number);
    process.ended = true;
  }
  // The next steps of the newest process; `training` of them end with an optimizer.
  void steps(std::uint32_t count, std::uint32_t training) {
    StepRun& run = data_.step_runs.emplace_back();
    run.process = ProcessId(static_cast<std::uint32_t>(data_.processes.size()));
    run.first = next_;
    run.last = next_ + count - 1;
    run.training_steps = training;
    next_ += count;
  }
  void training(std::uint32_t count) { steps(count, count); }
  void evaluations(std::uint32_t count) { steps(count, 0); }
  // "training 0", "evaluation 3": kind and first number of each row
  std::vector<std::string> numbered() const {
    std::vector<std::string> all;
    for (const NumberedRun& run : numbered_runs(data_))
      all.push_back(std::string(name(run.kind)) + " " + std::to_string(run.first_number));
    return all;
  }
  std::uint64_t trained() const { return step_counts(data_).training; }

  RunData data_;
  std::uint32_t next_ = 0;
};

TEST_F(StepNumbersTest, EvaluationsAreNumberedApart) {
  evaluations(2);
  training(10);
  evaluations(3);
  training(10);
  EXPECT_THAT(numbered(), ElementsAre("evaluation 0", "training 0", "evaluation 2", "training 10"));
  EXPECT_EQ(trained(), 20u);
  EXPECT_EQ(step_counts(data_).evaluations, 5u);
}

TEST_F(StepNumbersTest, WithoutAnOptimizerEverythingIsAStep) {
  evaluations(4);
  evaluations(3);
  EXPECT_THAT(numbered(), ElementsAre("training 0", "training 4"));
  EXPECT_EQ(trained(), 7u);
  EXPECT_EQ(step_counts(data_).evaluations, 0u);
}

TEST_F(StepNumbersTest, RowsOfBothCountWhatTheyHold) {
  training(2);
  steps(10, 7);
  training(1);
  EXPECT_THAT(numbered(), ElementsAre("training 0", "mixed 2", "training 9"));
  EXPECT_EQ(trained(), 10u);
}

TEST_F(StepNumbersTest, EachProcessHasItsOwn) {
  training(3);
  process();
  next_ = 0;
  evaluations(2);
  training(1);
  EXPECT_THAT(numbered(), ElementsAre("training 0", "evaluation 0", "training 0"));
  EXPECT_EQ(trained(), 3u);
}

TEST_F(StepNumbersTest, StepsOfWhichNothingCameAreCounted) {
  training(3);
  next_ += 5;
  training(1);
  EXPECT_THAT(numbered(), ElementsAre("training 0", "training 8"));
  EXPECT_EQ(trained(), 9u);
}

TEST_F(StepNumbersTest, WhereEventsWereDroppedTheProcessKnowsBest) {
  training(3);
  data_.processes[ProcessId(1)].lanes.push_back({.dropped = 1});
  data_.processes[ProcessId(1)].gauges.training_steps = 41;
  EXPECT_EQ(trained(), 41u);
}

// A run that was recovered: the process dropped nothing, and most of its events were lost afterwards.
TEST_F(StepNumbersTest, WhereEventsNeverArrivedTheProcessKnowsBest) {
  training(3);
  Process& process = data_.processes[ProcessId(1)];
  process.ended = true;
  process.lanes.push_back({.written = 500, .received = 500});
  process.gauges.training_steps = 41;
  EXPECT_EQ(trained(), 3u);
  process.lanes.push_back({.written = 500, .received = 20});
  EXPECT_EQ(trained(), 41u);
}

class StepViewTest : public RunStoreTest {
 protected:
  void stay(bool trains) {
    run_.enter(region_).cast(site_, kTensor, true).exit();
    if (trains) run_.optimizer();
    run_.step(trains ? lanes::StepReason::kOptimizer : lanes::StepReason::kRegionEnd);
  }
  std::unique_ptr<RunStore> store_ = create();
  TestRun run_{*store_};
  std::uint32_t region_ = run_.region("train.py", 5);
  std::uint32_t site_ = run_.weight("train.py", 10, "fc");
};

// In the text, 1 stands for evaluations and 0 for training steps, before the first number of the row.
TEST_F(StepViewTest, TheViewInTheRunFileTellsTheSame) {
  for (const bool trains : {false, true, true, false, true}) stay(trains);
  run_.end();
  ASSERT_TRUE(store_->close().ok());
  std::string text;
  for (const NumberedRun& numbered : numbered_runs(read()))
    text += (numbered.kind == StepKind::kEvaluation ? "1" : "0") + std::to_string(numbered.first_number);
  EXPECT_EQ(text, "10001102");
  EXPECT_EQ(query("SELECT group_concat((step_kind = 'evaluation') || first_number, '') FROM v_step_runs"), 10001102);
}

// torch.compile's optimizers tell nothing: what begins the next step tells what ended this one.
TEST_F(StepViewTest, TheBeginOfTheNextStepTellsWhatEndedAStep) {
  const auto stay = [&](lanes::StepReason ended_by) {
    run_.enter(region_).cast(site_, kTensor, true).exit();
    run_.step(ended_by);
  };
  for (const auto reason :
       {lanes::StepReason::kOptimizer, lanes::StepReason::kRegionEnd, lanes::StepReason::kOptimizer})
    stay(reason);
  run_.end();
  ASSERT_TRUE(store_->close().ok());
  EXPECT_EQ(step_counts(read()).training, 2u);
  EXPECT_EQ(step_counts(read()).evaluations, 1u);
}

TEST_F(StepViewTest, StepsThatTheJobTellsAreTrainingSteps) {
  for (int i = 0; i < 3; ++i) {
    run_.enter(region_).cast(site_, kTensor, true).exit();
    run_.step(lanes::StepReason::kExplicit);
  }
  run_.end();
  ASSERT_TRUE(store_->close().ok());
  EXPECT_EQ(step_counts(read()).training, 3u);
}

}  // namespace
}  // namespace castscope::store
