// The last steps of a process stay open for a while: a writer that is killed meanwhile, and continued, loses none.
#include "server/store/testing/run_store_test.h"

namespace castscope::store {
namespace {

class OpenStepsTest : public RunStoreTest {
 protected:
  // Ten steps of two casts, committed one by one, by a writer that is killed then. A second process is not needed: a
  // copy of the files as they lie is the same.
  std::string killed(const StoreOptions& options = {}) {
    auto store = create(options);
    TestRun run(*store);
    const std::uint32_t weight = run.weight("train.py", 10, "fc");
    for (int step = 0; step < 10; ++step) {
      if (step > 0) run.step();
      run.cast(weight, kTensor).cast(weight, kTensor).flush();
    }
    for (const char* suffix : {"", "-wal"}) {
      std::filesystem::copy_file(path() + suffix, path("left.castscope") + suffix,
                                 std::filesystem::copy_options::overwrite_existing);
    }
    return path("left.castscope");
  }

  static std::vector<StepRun> steps_of(const std::string& path) {
    const auto data = read_run(path);
    EXPECT_TRUE(data.ok()) << data.status().message();
    return data->step_runs;
  }
  static std::uint64_t casts_of(const std::vector<StepRun>& runs) {
    std::uint64_t casts = 0;
    for (const StepRun& run : runs) casts += run.casts;
    return casts;
  }
};

TEST_F(OpenStepsTest, AWriterThatIsContinuedHasEveryStep) {
  const std::string left = killed();
  EXPECT_LT(casts_of(steps_of(left)), 20u) << "the last steps were open";
  ASSERT_TRUE((*RunStore::resume(left))->close().ok());
  const auto runs = steps_of(left);
  EXPECT_EQ(casts_of(runs), 20u);
  EXPECT_EQ(runs.front().first, 0u);
  EXPECT_EQ(runs.back().last, 9u);
  for (const StepRun& run : runs) EXPECT_FALSE(run.incomplete);
}

TEST_F(OpenStepsTest, AStepThatGoesOnAfterwardsIsOneStep) {
  const std::string left = killed();
  auto again = *RunStore::resume(left);
  TestRun same(*again);
  const std::uint32_t weight = same.weight("train.py", 10, "fc");
  same.gauges.present_step = 9;
  same.cast(weight, kTensor);
  same.end();
  ASSERT_TRUE(again->close().ok());
  const auto runs = steps_of(left);
  EXPECT_EQ(casts_of(runs), 21u);
  EXPECT_EQ(std::make_pair(runs.back().last, runs.back().incomplete), std::make_pair(9u, false));
}

TEST_F(OpenStepsTest, AStepIsIncompleteWhereEventsInItsMidstWereGivenUp) {
  auto store = create({.first_window_bytes = 1, .newest_window_bytes = 1});
  TestRun run(*store);
  const std::uint32_t weight = run.weight("train.py", 10, "fc");
  for (int block = 0; block < 5; ++block) run.cast(weight, kTensor).flush();
  for (const char* suffix : {"", "-wal"}) std::filesystem::copy_file(path() + suffix, path("left.castscope") + suffix);
  ASSERT_TRUE((*RunStore::resume(path("left.castscope")))->close().ok());
  const auto runs = steps_of(path("left.castscope"));
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_LT(runs[0].casts, 5u);
  EXPECT_TRUE(runs[0].incomplete);
}

TEST_F(OpenStepsTest, AStepWhoseEventsWereGivenUpIsIncomplete) {
  const std::string left = killed({.first_window_bytes = 1, .newest_window_bytes = 1});
  ASSERT_TRUE((*RunStore::resume(left))->close().ok());
  EXPECT_TRUE(steps_of(left).back().incomplete);
}

}  // namespace
}  // namespace castscope::store
