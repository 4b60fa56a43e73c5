// What was not taken comes back from the file, each once, and keeps the run from being complete. Whoever writes on
// finds how far the file is.
#include "server/store/run/completeness.h"
#include "server/store/testing/run_store_test.h"

namespace castscope::store {
namespace {

TEST_F(RunStoreTest, WhatWasNotTakenComesBackEachOnce) {
  auto store = create();
  for (int again = 0; again < 2; ++again) {
    ASSERT_TRUE(store->incomplete(IncompleteReason::kProcessRejected, "host/7/1/0", "process 7 sent junk").ok());
    ASSERT_TRUE(store->incomplete(IncompleteReason::kBatchRejected, "", "a batch came too late").ok());
  }
  ASSERT_TRUE(store->finish({.end_ns = 5, .exit_status = 0, .signal = {}, .complete = true}).ok());
  ASSERT_TRUE(store->close().ok());
  const RunData data = read();
  EXPECT_THAT(data.incomplete,
              testing::ElementsAre(Incomplete{IncompleteReason::kProcessRejected, "host/7/1/0", "process 7 sent junk"},
                                   Incomplete{IncompleteReason::kBatchRejected, "", "a batch came too late"}));
  EXPECT_EQ(what_is_missing(data), data.incomplete);
  EXPECT_EQ(query("SELECT count(*) FROM v_missing WHERE incomplete_reason = 'batch_rejected' AND process_key IS NULL"),
            1);
}

TEST_F(RunStoreTest, ARunThatGoesOnKeepsWhatWasNotTakenBefore) {
  auto store = create();
  ASSERT_TRUE(store->incomplete(IncompleteReason::kBatchRejected, "", "a batch came too late").ok());
  ASSERT_TRUE(store->commit().ok());
  ASSERT_TRUE(store->close().ok());
  auto again = RunStore::resume(path());
  ASSERT_TRUE(again.ok()) << again.status();
  ASSERT_TRUE((*again)->incomplete(IncompleteReason::kBatchRejected, "", "a batch came too late").ok());
  ASSERT_TRUE((*again)->close().ok());
  EXPECT_EQ(read().incomplete.size(), 1u);
}

TEST_F(RunStoreTest, ARunThatGoesOnKnowsHowFarRelaysAndCountersWere) {
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

TEST_F(RunStoreTest, CountsOfAnEarlierLifeDoNotFall) {
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

}  // namespace
}  // namespace castscope::store
