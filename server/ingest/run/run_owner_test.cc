// A run belongs to whoever began it, and what is finished stays as it is.
#include "server/ingest/run/run_table_test.h"

namespace castscope::ingest {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Batch = BatchBuilder;

class RunOwnerTest : public RunTableTest {
 protected:
  absl::Status attach_as(const std::string& owner, const std::string& relay,
                         ingest::Run::Clock::duration later = std::chrono::seconds(0)) {
    ingest::Run::Reply reply;
    return run().attach({.id = "run", .owner = owner}, &stream(relay), 0, &reply, ingest::Run::Clock::now() + later);
  }
};

TEST_F(RunOwnerTest, NobodyElseMaySendMoreOfIt) {
  EXPECT_TRUE(attach_as("mine", "a").ok());
  apply("a", Batch().begin().sequence(1).flush());
  for (const char* owner : {"yours", ""}) {
    for (const char* relay : {"a", "b"}) {
      const absl::Status status = attach_as(owner, relay);
      EXPECT_TRUE(absl::IsUnauthenticated(status));
      EXPECT_THAT(std::string(status.message()), HasSubstr("run run was begun by another sender"));
    }
  }
  EXPECT_THAT(sink_->missing, IsEmpty()) << "and it is no trouble of the run's";
  EXPECT_TRUE(attach_as("mine", "b").ok());
}

// A collector of castscope 0.1 wrote no owner down: its runs go on at the next one, as do those of other clients.
TEST_F(RunOwnerTest, ARunThatHasNoKeyTakesRelaysWithOne) {
  EXPECT_TRUE(attach_as("", "a").ok());
  EXPECT_TRUE(attach_as("mine", "a").ok());
  EXPECT_TRUE(attach_as("", "b").ok()) << "and belongs to nobody";
}

TEST_F(RunOwnerTest, AStrangerWhoIsFirstAfterARestartDoesNotBecomeTheOwner) {
  can_open_ = another_senders("run");
  EXPECT_TRUE(absl::IsUnauthenticated(attach_as("yours", "a")));
  can_open_ = absl::OkStatus();
  EXPECT_TRUE(attach_as("mine", "a").ok());
  EXPECT_TRUE(absl::IsUnauthenticated(attach_as("yours", "a")));
}

TEST_F(RunOwnerTest, AFinishedRunTakesNoFurtherRelays) {
  attach("a");
  goodbye("a", 1);
  EXPECT_TRUE(attach_as("", "late", std::chrono::seconds(60)).ok()) << "of another rank, perhaps";
  goodbye("late", 1);
  ASSERT_THAT(closings_, SizeIs(2));
  const absl::Status status = attach_as("", "too late", std::chrono::minutes(3));
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("run run is finished"));
  EXPECT_TRUE(attach_as("", "a", std::chrono::minutes(3)).ok()) << "its last acknowledgement was lost";
  EXPECT_THAT(closings_, SizeIs(2));
}

TEST_F(RunOwnerTest, WhatAnEarlierCollectorFinishedStaysAsItIs) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto ended = [&](std::chrono::minutes ago) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(now - ago).count();
  };
  sink_->earlier_life_of_run.relays = {{.relay = "a", .acknowledged = 5, .said_goodbye = true, .exit_status = 0}};
  sink_->earlier_life_of_run.end_ns = ended(std::chrono::minutes(3));
  EXPECT_TRUE(absl::IsFailedPrecondition(attach_as("", "late")));
  ASSERT_THAT(closings_, SizeIs(1));
  EXPECT_TRUE(closings_[0].nothing_new);
  EXPECT_TRUE(absl::IsFailedPrecondition(attach_as("", "late"))) << "closing it again did not open it for longer";
}

TEST_F(RunOwnerTest, ARunWhoseEndWasNotSeenMayGoOn) {
  attach("a");
  const auto now = ingest::Run::Clock::now();
  run().detach(stream("a"), now);
  table_.close_abandoned(now + std::chrono::minutes(5), std::chrono::minutes(2));
  ASSERT_THAT(closings_, SizeIs(1));
  EXPECT_TRUE(attach_as("", "recovered", std::chrono::hours(100)).ok());
}

}  // namespace
}  // namespace castscope::ingest
