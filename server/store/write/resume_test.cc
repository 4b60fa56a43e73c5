// A store that writes on in a file learns how far the file is, and lowers no count that stands in it.
#include "server/store/file/schema.h"
#include "server/store/testing/failing_syncs.h"
#include "server/store/testing/run_store_test.h"

namespace castscope::store {
namespace {

using ResumeTest = RunStoreTest;

TEST_F(ResumeTest, ARunThatGoesOnKnowsHowFarRelaysAndCountersWere) {
  auto store = create();
  TestRun run(*store);
  const std::uint32_t weight = run.weight("train.py", 10, "fc");
  run.step().cast(weight, kTensor).flush();
  const RelayState relay{.relay = "relay", .acknowledged = 7, .said_goodbye = true, .exit_status = 3};
  ASSERT_TRUE(store->relay({.relay = "relay", .acknowledged = 6}).ok());
  ASSERT_TRUE(store->relay(relay).ok());
  ASSERT_TRUE(store->incomplete(IncompleteReason::kProcessRejected, "host/7/1/0", "process 7 sent junk").ok());
  ASSERT_TRUE(store->close().ok());
  auto again = RunStore::resume(path());
  ASSERT_TRUE(again.ok()) << again.status();
  const EarlierLife earlier = (*again)->earlier_life();
  EXPECT_THAT(earlier.relays, testing::ElementsAre(relay));
  ASSERT_THAT(earlier.processes, testing::SizeIs(1));
  EXPECT_EQ(earlier.processes[0].key, run.key());
  ASSERT_THAT(earlier.rejected, testing::SizeIs(1));
  EXPECT_EQ(earlier.rejected[0].process, "host/7/1/0");
  EXPECT_TRUE((*again)->has_counter(run.key(), 1, weight));
  EXPECT_FALSE((*again)->has_counter(run.key(), 1, weight + 1));
  EXPECT_FALSE((*again)->has_counter("another", 1, weight));
}

TEST_F(ResumeTest, ARunThatGoesOnHasNotEndedUntilItEndsAgain) {
  auto store = create();
  const RunEnd end{.end_ns = 5, .exit_status = 3, .signal = {}, .complete = false, .unseen = "a relay was silent"};
  ASSERT_TRUE(store->finish(end).ok());
  ASSERT_TRUE(store->close().ok());
  ASSERT_EQ(read().end->unseen, "a relay was silent");
  store = *RunStore::resume(path());
  ASSERT_TRUE(store->commit().ok());
  EXPECT_EQ(store->read()->end->exit_status, 3) << "nothing came";
  ProcessInfo process;
  process.key = "host/1/1/0";
  EXPECT_TRUE(store->process(process).ok());
  EXPECT_FALSE(store->read()->end);
  EXPECT_EQ(store->earlier_end()->end_ns, 5);
  ASSERT_TRUE(store->finish({.end_ns = 9, .complete = true}).ok());
  ASSERT_TRUE(store->close().ok());
  EXPECT_EQ(read().end->end_ns, 9);
  EXPECT_FALSE(read().end->exit_status);
  EXPECT_EQ(read().end->unseen, "");
}

// A collector of the version before was stopped, and this one was started in its place.
TEST_F(ResumeTest, AFileOfTheFormatBeforeGoesOn) {
  auto store = create();
  TestRun run(*store);
  const std::uint32_t weight = run.weight("train.py", 10, "fc");
  run.step().cast(weight, kTensor).flush();
  ASSERT_TRUE(store->close().ok());
  {
    auto database = Database::open(path(), SQLITE_OPEN_READWRITE);
    ASSERT_TRUE(database
                    ->exec(absl::StrCat("DELETE FROM run WHERE key LIKE 'checksum%'; PRAGMA user_version = ",
                                        kWeaklyCheckedFormat)
                               .c_str())
                    .ok());
  }
  auto again = RunStore::resume(path());
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_TRUE((*again)->has_counter(run.key(), 1, weight));
  ASSERT_TRUE((*again)->finish({.end_ns = 9, .complete = true}).ok());
  ASSERT_TRUE((*again)->close().ok());
  EXPECT_FALSE(read().weakly_checked) << "from its end on the file is of the present format";
  EXPECT_EQ(read().end->end_ns, 9);
}

TEST_F(ResumeTest, CountsOfAnEarlierLifeDoNotFall) {
  auto store = create();
  TestRun run(*store);
  const std::uint32_t weight = run.weight("train.py", 10, "fc");
  run.step().cast(weight, kTensor).cast(weight, kTensor).flush();
  ASSERT_TRUE(store->close().ok());
  auto again = *RunStore::resume(path());
  TestRun same(*again);
  ASSERT_EQ(same.weight("train.py", 10, "fc"), weight);
  const CounterRow fewer{.lane = 1, .site = weight, .casts = 1, .hits = 5};
  ASSERT_TRUE(again->counters(run.key(), std::span(&fewer, 1)).ok());
  const LaneRow lane{.lane = 1, .received = 3, .next = 3};
  ASSERT_TRUE(again->lanes(run.key(), std::span(&lane, 1)).ok());
  ASSERT_TRUE(again->close().ok());
  const RunData data = read();
  EXPECT_EQ(data.site_uses.at(0).counts.casts, 2u);
  EXPECT_EQ(data.site_uses.at(0).counts.hits, 5u);
  EXPECT_EQ(data.processes.front().lanes.at(0).written, 3u);
}

TEST_F(ResumeTest, CountsOfDeepStepsDoNotFallEither) {
  auto store = create();
  for (const std::uint64_t times : {5u, 3u}) {
    TestRun run(*store);
    const std::uint32_t use = run.use({.op = "aten::add"}), flow = run.flow(use, use);
    run.called(use, times).flowed(flow, times).end();
    ASSERT_TRUE(store->close().ok());
    if (times == 5) store = *RunStore::resume(path());
  }
  EXPECT_EQ(read().use_counts.at(0).times, 5u);
  EXPECT_EQ(read().flow_counts.at(0).times, 5u);
}

// A disk whose syncs fail: a file that is opened again tells nothing that was only written, and not synced, before.
class SyncsTest : public RunStoreTest {
 protected:
  static constexpr StoreOptions kSyncs{.syncs_commits = true};
  FailingSyncs syncs_;
};

TEST_F(SyncsTest, WhatTheDiskMayNotHaveIsNotTakenForKept) {
  const auto store = create(kSyncs);
  ASSERT_TRUE(store->relay({.relay = "relay", .acknowledged = 6}).ok());
  ASSERT_TRUE(store->commit().ok());
  ASSERT_TRUE(store->relay({.relay = "relay", .acknowledged = 7}).ok());
  syncs_.fail = true;
  EXPECT_FALSE(store->commit().ok());
  EXPECT_FALSE(store->reopen().ok()) << "the log of SQLite holds the commit, but nobody knows whether the disk does";
  EXPECT_FALSE(store->reopen().ok());
  syncs_.fail = false;
  ASSERT_TRUE(store->reopen().ok());
  EXPECT_GE(store->earlier_life().relays.at(0).acknowledged, 6u);
  EXPECT_TRUE(store->close().ok());
}

TEST_F(SyncsTest, ACollectorThatWasKilledBeforeASyncSyncsWhenItIsStartedAgain) {
  {
    const auto store = create(kSyncs);
    ASSERT_TRUE(store->relay({.relay = "relay", .acknowledged = 6}).ok());
    ASSERT_TRUE(store->commit().ok());
    ASSERT_TRUE(store->relay({.relay = "relay", .acknowledged = 7}).ok());
    syncs_.fail = true;
    EXPECT_FALSE(store->commit().ok());
  }
  EXPECT_FALSE(RunStore::resume(path(), kSyncs).ok());
  syncs_.fail = false;
  EXPECT_TRUE(RunStore::resume(path(), kSyncs).ok());
}

// SQLite syncs a new log before it writes anything into it.
TEST_F(SyncsTest, AFirstCommitThatWasNotSyncedIsNotThere) {
  {
    const auto store = create(kSyncs);
    ASSERT_TRUE(store->relay({.relay = "relay", .acknowledged = 7}).ok());
    syncs_.fail = true;
    EXPECT_FALSE(store->commit().ok());
  }
  auto again = RunStore::resume(path(), kSyncs);
  EXPECT_TRUE(!again.ok() || (*again)->earlier_life().relays.empty());
  syncs_.fail = false;
  again = RunStore::resume(path(), kSyncs);
  ASSERT_TRUE(again.ok());
  EXPECT_THAT((*again)->earlier_life().relays, testing::IsEmpty());
}

}  // namespace
}  // namespace castscope::store
