// A run whose file cannot be written for a while: nothing that was not committed counts as taken, and the run goes on
// when the trouble has passed.
#include "server/ingest/run/run_table_test.h"

namespace castscope::ingest {
namespace {

using testing::IsEmpty;
using testing::SizeIs;
using Batch = BatchBuilder;

class RunTroubleTest : public RunTableTest {
 protected:
  // The next commit fails, as on a full disk. `file` is what the file tells when it is opened again.
  absl::Status meet_full_disk(const std::string& relay, const v1::Batch& batch, store::EarlierLife file = {}) {
    sink_->next_commit = absl::ResourceExhaustedError("the disk is full");
    sink_->earlier_life_of_run = std::move(file);
    ingest::Run::Reply reply;
    absl::Status status = run().apply(stream(relay), batch, &reply);
    EXPECT_FALSE(reply.send);
    sink_->next_commit = absl::OkStatus();
    return status;
  }
  static store::EarlierLife known(std::uint64_t acknowledged) {
    return {.relays = {{.relay = "a", .acknowledged = acknowledged}},
            .processes = {{.key = "host/1/1/0", .host = "host", .pid = 1}},
            .rejected = {}};
  }
};

TEST_F(RunTroubleTest, TheRelaySendsAgainWhatWasNotCommitted) {
  attach("a");
  apply("a", Batch().begin().sequence(1).flush());
  EXPECT_TRUE(absl::IsResourceExhausted(meet_full_disk("a", Batch().sequence(2).flush(), known(1))));
  EXPECT_EQ(given_up_, 1);
  EXPECT_THAT(closings_, IsEmpty());
  EXPECT_EQ(attach("a", 1).durable, 1u);
  EXPECT_EQ(opened_, 2);
  EXPECT_EQ(apply("a", Batch().begin().sequence(2).flush()).durable, 2u);
  goodbye("a", 3);
  ASSERT_THAT(closings_, SizeIs(1));
  EXPECT_TRUE(closings_[0].farewell);
  EXPECT_THAT(sink_->missing, IsEmpty());
}

TEST_F(RunTroubleTest, WhatARelaySendsInAnOlderStreamDoesNotFollowOnTheFile) {
  attach("a");
  attach("b");
  apply("b", Batch().begin().sequence(1));
  EXPECT_FALSE(meet_full_disk("a", Batch("host/2/2/0").begin(2).sequence(1).flush()).ok());
  ingest::Run::Reply reply;
  EXPECT_TRUE(absl::IsUnavailable(run().apply(stream("b"), Batch().sequence(2).flush(), &reply)));
  v1::Goodbye message;
  message.set_sequence(2);
  EXPECT_TRUE(absl::IsUnavailable(run().goodbye(stream("b"), message, &reply)));
  EXPECT_EQ(reply.out_of_order, "") << "it would be refused for good";
  attach("b");
  EXPECT_EQ(apply("b", Batch().begin().sequence(1).flush()).durable, 1u);
}

TEST_F(RunTroubleTest, AGoodbyeThatWasNotKeptIsSaidAgain) {
  attach("a");
  sink_->next_commit = absl::UnavailableError("reading or writing failed");
  v1::Goodbye message;
  message.set_sequence(1);
  message.set_exit_code(3);
  ingest::Run::Reply reply;
  EXPECT_FALSE(run().goodbye(stream("a"), message, &reply).ok());
  EXPECT_THAT(closings_, IsEmpty());
  sink_->next_commit = absl::OkStatus();
  attach("a");
  EXPECT_EQ(goodbye("a", 1, 3).durable, 1u);
  ASSERT_THAT(closings_, SizeIs(1));
  EXPECT_EQ(closings_[0].exit_status, 3);
}

TEST_F(RunTroubleTest, ARunWhoseRelaysStayAwayIsClosedWhenTheTroubleHasPassed) {
  attach("a");
  EXPECT_FALSE(meet_full_disk("a", Batch().begin().sequence(1).flush(), known(0)).ok());
  const auto now = ingest::Run::Clock::now();
  run().detach(stream("a"), now);
  can_open_ = absl::ResourceExhaustedError("the disk is full");
  table_.close_abandoned(now + std::chrono::minutes(3), std::chrono::minutes(2));
  EXPECT_THAT(closings_, IsEmpty());
  can_open_ = absl::OkStatus();
  table_.close_abandoned(now + std::chrono::minutes(4), std::chrono::minutes(2));
  ASSERT_THAT(closings_, SizeIs(1));
  EXPECT_FALSE(closings_[0].farewell);
  EXPECT_NE(closings_[0].unseen, "");
}

}  // namespace
}  // namespace castscope::ingest
