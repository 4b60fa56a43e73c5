// The file gives back what was not taken, each sentence once, and the run is not complete for it.
#include "absl/strings/str_cat.h"
#include "server/store/run/completeness.h"
#include "server/store/run/sentence_room.h"
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

// A sender may have as many as it likes to say. The run is not complete all the same.
TEST_F(RunStoreTest, SentencesHaveABoundedRoom) {
  auto store = create();
  for (int i = 0; i < 6000; ++i) {
    ASSERT_TRUE(store->incomplete(IncompleteReason::kProcessRejected, absl::StrCat("process ", i), "sent junk").ok());
    ASSERT_TRUE(store->notice(absl::StrCat("notice ", i)).ok());
  }
  ASSERT_TRUE(store->finish({.end_ns = 5, .exit_status = 0, .signal = {}, .complete = true}).ok());
  ASSERT_TRUE(store->close().ok());
  const RunData data = read();
  EXPECT_EQ(data.incomplete.size(), kMostSentences + 1);
  EXPECT_EQ(data.incomplete.back().sentence, "more is missing, and a run file has no room to say what");
  EXPECT_EQ(data.notices.size(), kMostSentences + 1);
  EXPECT_EQ(data.notices.back(), "there were more notices, and a run file has no room for them");
}

}  // namespace
}  // namespace castscope::store
