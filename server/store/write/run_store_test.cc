// The file of a run, from the sink's side and read back.
#include "server/store/write/run_store.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "server/store/testing/run_store_test.h"

namespace castscope::store {
namespace {

// While it lives, no file of this process grows past `bytes`, as on a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(std::uint64_t bytes) {
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit now = before_;
    now.rlim_cur = bytes;
    setrlimit(RLIMIT_FSIZE, &now);
  }
  ~FileSizeLimit() { setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

TEST_F(RunStoreTest, MetadataComesBack) {
  auto store = create();
  ASSERT_TRUE(store->notice("no agent fits").ok());
  ASSERT_TRUE(store->notice("no agent fits").ok());
  ASSERT_TRUE(store->finish({.end_ns = 5, .exit_status = 3, .signal = {}, .complete = true}).ok());
  ASSERT_TRUE(store->close().ok());
  const RunData data = read();
  EXPECT_EQ(data.start.command, start().command);
  EXPECT_EQ(data.start.cwd, "/home/user/project");
  EXPECT_EQ(data.notices, std::vector<std::string>{"no agent fits"});
  ASSERT_TRUE(data.end.has_value());
  EXPECT_EQ(data.end->exit_status, 3);
  EXPECT_FALSE(data.end->signal.has_value());
  EXPECT_TRUE(data.end->complete);
}

TEST_F(RunStoreTest, CountsAreThoseOfTheCountersOverLanes) {
  auto store = create();
  TestRun run(*store);
  run.region("train.py", 5);
  const std::uint32_t weight = run.weight("train.py", 10, "fc");
  run.lane(1).cast(weight, kTensor, true).hit(weight, kTensor).lane(2).hit(weight, kTensor);
  run.end();
  ASSERT_TRUE(store->close().ok());
  const RunData data = read();
  ASSERT_EQ(data.site_uses.size(), 1u);
  EXPECT_EQ(data.site_uses[0].counts.casts, 1u);
  EXPECT_EQ(data.site_uses[0].counts.hits, 2u);
  EXPECT_EQ(data.site_uses[0].counts.bytes, 1000u);
  EXPECT_EQ(query("SELECT cache_hits FROM v_sites"), 2);
}

TEST_F(RunStoreTest, HandingCountersOverTwiceChangesNothing) {
  auto store = create();
  TestRun run(*store);
  const std::uint32_t weight = run.weight("train.py", 10, "fc");
  run.cast(weight, kTensor).flush().flush();
  run.end();
  ASSERT_TRUE(store->close().ok());
  EXPECT_EQ(query("SELECT casts FROM v_totals"), 1);
}

TEST_F(RunStoreTest, CallsBeyondSitesStandApart) {
  auto store = create();
  TestRun run(*store);
  run.lane(1).counter(0).casts = 7;
  run.lane(0).counter(0).hits = 5;
  run.lane(1).end();
  ASSERT_TRUE(store->close().ok());
  const RunData data = read();
  EXPECT_TRUE(data.site_uses.empty());
  EXPECT_EQ(data.processes.front().beyond_sites.casts, 7u);
  EXPECT_EQ(data.processes.front().beyond_sites.hits, 5u);
  EXPECT_EQ(query("SELECT casts FROM v_totals"), 7);
}

// Their site had no room in the process: they are counted, and their step is known in part.
TEST_F(RunStoreTest, EventsBeyondSitesMakeTheirStepIncomplete) {
  auto store = create();
  TestRun run(*store);
  const std::uint32_t weight = run.weight("train.py", 10, "fc");
  for (int i = 1; i <= 20; ++i) {
    run.step().cast(weight, kTensor);
    if (i > 10) run.cast(0, kTensor).hit(0, kTensor);
    run.flush();
  }
  run.end();
  ASSERT_TRUE(store->close().ok());
  const RunData data = read();
  EXPECT_EQ(data.processes.front().beyond_sites.casts, 10u);
  EXPECT_EQ(data.processes.front().beyond_sites.hits, 10u);
  EXPECT_EQ(query("SELECT casts FROM v_totals"), 30);
  ASSERT_GE(data.step_runs.size(), 2u);
  EXPECT_FALSE(data.step_runs.front().incomplete);
  EXPECT_TRUE(data.step_runs.back().incomplete);
  EXPECT_EQ(query("SELECT count(*) FROM behaviour_sites WHERE site = 0"), 0);
}

TEST_F(RunStoreTest, RanksWithTheSameCodeShareItsRows) {
  auto store = create();
  for (std::int64_t pid : {100, 101, 102}) {
    TestRun run(*store, pid);
    run.region("train.py", 5);
    if (pid == 101) run.weight("other.py", 1, "x");  // numbers differ from process to process
    const std::uint32_t weight = run.weight("train.py", 10, "fc");
    run.cast(weight, kTensor, true);
    run.end();
  }
  ASSERT_TRUE(store->close().ok());
  const RunData data = read();
  EXPECT_EQ(data.sites.size(), 2u);
  EXPECT_EQ(data.processes.size(), 3u);
  EXPECT_EQ(data.site_uses.size(), 3u);
  EXPECT_EQ(query("SELECT casts FROM v_sites WHERE line = 10"), 3);
}

TEST_F(RunStoreTest, ASteadyLoopIsOneRowOfSteps) {
  auto store = create();
  TestRun run(*store);
  const std::uint32_t region = run.region("train.py", 5);
  const std::uint32_t weight = run.weight("train.py", 10, "fc");
  for (int i = 0; i < 100; ++i) {
    run.step().enter(region).cast(weight, kTensor, true).lane(2).hit(weight, kTensor).lane(1).exit();
    if (i % 7 == 0) run.flush();
  }
  run.end();
  ASSERT_TRUE(store->close().ok());
  const RunData data = read();
  ASSERT_EQ(data.step_runs.size(), 1u);
  EXPECT_EQ(data.step_runs[0].first, 1u);
  EXPECT_EQ(data.step_runs[0].last, 100u);
  EXPECT_EQ(data.step_runs[0].casts, 100u);
  EXPECT_EQ(data.step_runs[0].hits, 100u);
  EXPECT_EQ(data.step_runs[0].regions, 100u);
  EXPECT_EQ(data.step_runs[0].clears, 100u);
  EXPECT_FALSE(data.step_runs[0].incomplete);
  EXPECT_EQ(query("SELECT casts FROM v_behaviours"), 1);
}

TEST_F(RunStoreTest, AChangeOfBehaviourIsANewRowAndComesBackToItsNumber) {
  auto store = create();
  TestRun run(*store);
  const std::uint32_t weight = run.weight("train.py", 10, "fc");
  for (int i = 0; i < 30; ++i) {
    run.step().cast(weight, kTensor);
    if (i / 10 == 1) run.cast(weight, kTensor);
    run.flush();
  }
  run.end();
  ASSERT_TRUE(store->close().ok());
  const RunData data = read();
  ASSERT_EQ(data.step_runs.size(), 3u);
  EXPECT_NE(data.step_runs[0].behaviour, data.step_runs[1].behaviour);
  EXPECT_EQ(data.step_runs[0].behaviour, data.step_runs[2].behaviour);
  EXPECT_EQ(data.step_runs[1].first, 11u);
  EXPECT_EQ(data.step_runs[1].last, 20u);
}

TEST_F(RunStoreTest, StepsWithDroppedEventsAreIncomplete) {
  auto store = create();
  TestRun run(*store);
  const std::uint32_t weight = run.weight("train.py", 10, "fc");
  for (int i = 1; i <= 30; ++i) {
    run.step().cast(weight, kTensor);
    if (i == 15) run.drop();
    run.flush();
  }
  run.end();
  ASSERT_TRUE(store->close().ok());
  std::uint32_t incomplete = 0;
  for (const StepRun& steps : read().step_runs) {
    const bool holds_15 = steps.first <= 15 && 15 <= steps.last;
    EXPECT_TRUE(!holds_15 || steps.incomplete) << steps.first;
    if (steps.incomplete) incomplete += steps.last - steps.first + 1;
  }
  EXPECT_LE(incomplete, 3u);  // the step itself and its neighbours, which may have lost something too
  EXPECT_EQ(query("SELECT casts FROM v_totals"), 30);
}

TEST_F(RunStoreTest, ALoopThatNeverDoesTheSameTwiceStaysBounded) {
  auto store = create();
  TestRun run(*store);
  const std::uint32_t weight = run.weight("train.py", 10, "fc");
  for (int i = 0; i < 6000; ++i) {
    run.step();
    for (int n = 0; n < 1 + i % 3; ++n) run.cast(weight, kTensor);
    if (i % 50 == 0) run.flush();
  }
  run.end();
  ASSERT_TRUE(store->close().ok());
  const RunData data = read();
  EXPECT_LT(data.step_runs.size(), 2060u);
  std::uint64_t casts = 0;
  std::uint32_t next = 1;
  for (const StepRun& steps : data.step_runs) {
    EXPECT_EQ(steps.first, next);
    next = steps.last + 1;
    casts += steps.casts;
  }
  EXPECT_EQ(next, 6001u);
  EXPECT_EQ(casts, 12000u);
}

TEST_F(RunStoreTest, TheWindowKeepsTheFirstAndTheNewestBlocks) {
  auto store = create({.first_window_bytes = 200, .newest_window_bytes = 300});
  TestRun run(*store);
  const std::uint32_t weight = run.weight("train.py", 10, "fc");
  for (int i = 0; i < 200; ++i) run.step().cast(weight, kTensor).flush();
  run.end();
  ASSERT_TRUE(store->close().ok());
  EXPECT_LT(query("SELECT sum(length(packed_events)) FROM event_blocks"), 700);
  EXPECT_EQ(query("SELECT min(first_step) FROM event_blocks"), 1);
  EXPECT_EQ(query("SELECT max(last_step) FROM event_blocks"), 200);
  EXPECT_GT(query("SELECT min(first_step) FROM event_blocks WHERE kept_window = 2"), 100);
  EXPECT_EQ(read().step_runs.size(), 1u);
}

TEST_F(RunStoreTest, KeepAllKeepsEveryBlock) {
  auto store = create({.keep_all = true, .first_window_bytes = 200, .newest_window_bytes = 300});
  TestRun run(*store);
  const std::uint32_t weight = run.weight("train.py", 10, "fc");
  for (int i = 0; i < 200; ++i) run.step().cast(weight, kTensor).flush();
  run.end();
  ASSERT_TRUE(store->close().ok());
  EXPECT_EQ(query("SELECT sum(event_count) FROM event_blocks"), 400);
}

TEST_F(RunStoreTest, WhatIsCommittedIsReadableWhileTheRunGoesOn) {
  auto store = create();
  TestRun run(*store);
  const std::uint32_t weight = run.weight("train.py", 10, "fc");
  run.cast(weight, kTensor).flush();
  EXPECT_EQ(read().site_uses.at(0).counts.casts, 1u);
  run.cast(weight, kTensor).flush();
  EXPECT_EQ(read().site_uses.at(0).counts.casts, 2u);
  EXPECT_FALSE(read().end.has_value());
}

// Whether another process finds the lock by which it knows that somebody uses the file: bytes of SQLite's.
bool is_in_use(const std::string& path) {
  const pid_t child = fork();
  if (child == 0) {
    struct flock lock {
      .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0x40000002, .l_len = 510, .l_pid = 0
    };
    const int file = open(path.c_str(), O_RDWR);
    _exit(fcntl(file, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK ? 1 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WEXITSTATUS(status) == 1;
}

TEST_F(RunStoreTest, ReadingItInTheSameProcessLeavesItInUse) {
  auto store = create();
  ASSERT_TRUE(store->commit().ok());
  ASSERT_TRUE(is_in_use(path()));
  EXPECT_TRUE(read_run(path()).ok());
  EXPECT_TRUE(is_in_use(path())) << "the next reader would delete the log that is written";
}
TEST_F(RunStoreTest, CloseLeavesOneFile) {
  auto store = create();
  TestRun(*store).end();
  ASSERT_TRUE(store->close().ok());
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder_)) ++files;
  EXPECT_EQ(files, 1u);
  EXPECT_FALSE(store->commit().ok());
}

// A killed writer: a second process is not needed, a copy of the files as they lie is the same.
TEST_F(RunStoreTest, AFileLeftByAKilledWriterIsReadAndContinued) {
  auto store = create();
  auto run = std::make_unique<TestRun>(*store);
  const std::uint32_t weight = run->weight("train.py", 10, "fc");
  run->step().cast(weight, kTensor).flush();
  for (const char* suffix : {"", "-wal"}) {
    std::filesystem::copy_file(path() + suffix, path("left.castscope") + suffix);
  }
  auto data = read_run(path("left.castscope"));
  ASSERT_TRUE(data.ok()) << data.status().message();
  EXPECT_EQ(data->site_uses.at(0).counts.casts, 1u);

  auto again = RunStore::resume(path("left.castscope"));
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ((*again)->position(run->key(), 1).received, 2u);
  EXPECT_EQ((*again)->position(run->key(), 1).next, 2u);
  EXPECT_EQ((*again)->position(run->key(), 9).next, 0u);
  TestRun same(**again);
  const std::uint32_t same_weight = same.weight("train.py", 10, "fc");
  same.gauges.present_step = 1;
  same.cast(same_weight, kTensor).cast(same_weight, kTensor).step().cast(same_weight, kTensor);
  same.end();
  ASSERT_TRUE((*again)->close().ok());
  data = read_run(path("left.castscope"));
  ASSERT_TRUE(data.ok()) << data.status().message();
  EXPECT_EQ(data->processes.size(), 1u);
  EXPECT_EQ(data->sites.size(), 1u);
  EXPECT_EQ(data->site_uses.at(0).counts.casts, 3u);  // absolute, not added up
  EXPECT_TRUE(data->start.continued);
}

// Another process names the call site otherwise: what was taken for the first process's site becomes a site of its own,
// and the cast of its gradient names that one.
TEST_F(RunStoreTest, AnExistingFileIsKeptUnlessTold) {
  write(path(), "precious");
  EXPECT_THAT(RunStore::create(path(), start()).status().message(), HasSubstr("the file exists"));
  EXPECT_EQ(std::filesystem::file_size(path()), 8u);
  EXPECT_TRUE(RunStore::create(path(), start(), {.overwrite = true}).ok());
}

TEST_F(RunStoreTest, AFolderThatIsNotThereIsASentence) {
  EXPECT_THAT(RunStore::create(path("no/such/run.castscope"), start()).status().message(),
              HasSubstr("cannot be created"));
}

TEST_F(RunStoreTest, NumbersThatWereNeverDefinedAreRefusedAndHarmNothing) {
  auto store = create();
  TestRun run(*store);
  const std::uint32_t weight = run.weight("train.py", 10, "fc");
  SiteInfo site;
  EXPECT_FALSE(store->define(run.key(), site).ok());
  site.id = 9;
  site.stack = 77;
  EXPECT_FALSE(store->define(run.key(), site).ok());
  const CounterRow unknown{.lane = 1, .site = 50};
  EXPECT_FALSE(store->counters(run.key(), std::span(&unknown, 1)).ok());
  EXPECT_FALSE(store->define("nobody", StackInfo()).ok());
  run.cast(weight, kTensor);
  run.end();
  ASSERT_TRUE(store->close().ok());
  EXPECT_EQ(read().site_uses.at(0).counts.casts, 1u);
}

TEST_F(RunStoreTest, AFullDiskIsOneSentenceAndWhatWasCommittedStays) {
  auto store = create();
  TestRun run(*store);
  const std::uint32_t weight = run.weight("train.py", 10, "fc");
  run.cast(weight, kTensor).flush();
  const FileSizeLimit limit(std::filesystem::file_size(path()) + std::filesystem::file_size(path() + "-wal"));
  absl::Status status;
  for (int i = 0; i < 2000 && status.ok(); ++i) {
    status = store->define(run.key(), AttributeInfo{"notice", std::to_string(i) + std::string(4000, 'x')});
    if (status.ok()) status = store->commit();
  }
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(store->commit(), status);  // said once, the same ever after
  EXPECT_EQ(store->read()->site_uses.at(0).counts.casts, 1u);
}

}  // namespace
}  // namespace castscope::store
