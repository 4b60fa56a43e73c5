// A collector that was started again reads from the run's file how far it was with each relay, and goes on there.
#include "server/ingest/run/run_table_test.h"

namespace castscope::ingest {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Batch = BatchBuilder;
using RunRestartTest = RunTableTest;

TEST_F(RunRestartTest, ACollectorThatWasStartedAgainGoesOnWhereTheRelayWas) {
  sink_->earlier_life_of_run.relays = {{.relay = "a", .acknowledged = 10}};
  EXPECT_EQ(attach("a", 10).durable, 10u);
  EXPECT_THAT(sink_->missing, IsEmpty());
  EXPECT_THAT(apply("a", Batch().begin().sequence(12)).out_of_order, HasSubstr("message 12 where message 11 was due"));
  EXPECT_EQ(apply("a", Batch().begin().sequence(11).flush()).durable, 11u);
}

TEST_F(RunRestartTest, TheFileKnowsHowFarARelayWas) {
  sink_->earlier_life_of_run = {
      .relays = {{.relay = "lost", .acknowledged = 10}, {.relay = "restored", .acknowledged = 10}},
      .processes = {{.key = "host/1/1/0", .host = "host", .pid = 1, .start_ticks = 1}},
      .rejected = {}};
  EXPECT_EQ(attach("lost", 8).durable, 10u) << "the last acknowledgement was lost";
  EXPECT_EQ(apply("lost", Batch().begin().site(1).casts(1, 0, 3, 1).sequence(9).flush()).durable, 10u);
  EXPECT_THAT(sink_->processes, IsEmpty()) << "it is in the file already";
  EXPECT_EQ(attach("restored", 50).durable, 50u) << "the file is an older copy";
  ASSERT_THAT(sink_->missing, SizeIs(1));
  EXPECT_THAT(sink_->missing[0].sentence, HasSubstr("messages 11 to 50 of relay restored were acknowledged"));
}

// `castscope recover` goes on as the relay that was killed, and has not what that one sent last.
TEST_F(RunRestartTest, ARelaysNextLifeNumbersFromTheLastMessageThatWasTaken) {
  attach("a");
  apply("a", Batch().begin().site(1).lane(1, 0).counter(1, 1, 3).sequence(1).flush());
  apply("a", Batch().begin().counter(1, 1, 5).sequence(2));  // not committed: the next flush never came
  EXPECT_EQ(attach("a", 0).durable, 2u);
  apply("a", Batch().begin().counter(1, 1, 9).sequence(3).flush());
  EXPECT_EQ((sink_->only().counters[{1, 1}].casts), 9u);
}

// A message of the last life may still be on its way to the run when the next one asks where to go on.
TEST_F(RunRestartTest, NothingIsTakenOfARelaysLastStreamOnceItHasBegunAnother) {
  attach("a");
  const ingest::Run::Stream last = stream("a");
  apply("a", Batch().begin().sequence(1).flush());
  EXPECT_EQ(attach("a", 1).durable, 1u);
  ingest::Run::Reply reply;
  EXPECT_TRUE(absl::IsUnavailable(run().apply(last, Batch().sequence(2).flush(), &reply)));
  v1::Goodbye goodbye;
  goodbye.set_sequence(2);
  EXPECT_TRUE(absl::IsUnavailable(run().goodbye(last, goodbye, &reply)));
  EXPECT_TRUE(absl::IsUnavailable(run().ask(last, &reply)));
  EXPECT_FALSE(reply.send);
  EXPECT_EQ(apply("a", Batch().begin().sequence(2).flush()).durable, 2u);
}

TEST_F(RunRestartTest, ARelayThatSaidGoodbyeCannotSayThatMoreWasAcknowledgedThanWas) {
  attach("a");
  goodbye("a", 1);
  EXPECT_EQ(attach("a", 7).out_of_order,
            "relay a says that message 7 was acknowledged to it, and the last one that was is 1");
}

TEST_F(RunRestartTest, TheFileKeepsWhatTheGoodbyeSaid) {
  attach("a");
  apply("a", Batch().begin().sequence(1).flush());
  EXPECT_EQ(sink_->relays["a"], (store::RelayState{.relay = "a", .acknowledged = 1}));
  v1::Goodbye message;
  message.set_sequence(2);
  message.set_exit_code(7);
  message.set_still_running(3);
  message.add_notices("the disk was slow");
  ingest::Run::Reply reply;
  EXPECT_TRUE(run().goodbye(stream("a"), message, &reply).ok());
  EXPECT_EQ(
      sink_->relays["a"],
      (store::RelayState{.relay = "a", .acknowledged = 2, .said_goodbye = true, .exit_status = 7, .still_running = 3}));
  EXPECT_THAT(sink_->notices, testing::ElementsAre("the disk was slow"));
}

TEST_F(RunRestartTest, TheFileKnowsARelayBeforeAnythingComesFromIt) {
  attach("a");
  EXPECT_EQ(sink_->relays["a"], (store::RelayState{.relay = "a"}));
  goodbye("a", 1);
  attach("b");
  EXPECT_FALSE(sink_->relays.contains("b")) << "the run had ended, and nothing came";
  EXPECT_NE(apply("b", Batch().begin().sequence(2)).out_of_order, "");
  EXPECT_TRUE(sink_->relays.contains("b")) << "something came, even if it was not taken";
  apply("b", Batch().begin().sequence(1).flush());
  EXPECT_EQ(sink_->relays["b"].acknowledged, 1u);
}

TEST_F(RunRestartTest, AGoodbyeOutlivesTheCollector) {
  sink_->earlier_life_of_run.relays = {
      {.relay = "a", .acknowledged = 5, .said_goodbye = true, .exit_status = 7, .still_running = 1},
      {.relay = "b", .acknowledged = 2}};
  EXPECT_EQ(attach("a", 4).durable, 5u) << "its last acknowledgement was lost";
  EXPECT_THAT(closings_, IsEmpty()) << "the other one may come back";
  attach("b", 2);
  goodbye("b", 3, -1);
  ASSERT_THAT(closings_, SizeIs(1));
  EXPECT_TRUE(closings_[0].farewell);
  EXPECT_FALSE(closings_[0].nothing_new);
  EXPECT_EQ(closings_[0].exit_status, 7);
  EXPECT_EQ(closings_[0].unseen,
            "1 process of the job still ran when the relay said goodbye: what was done after that is not in the file");
}

TEST_F(RunRestartTest, ARunThatHadEndedIsLeftAsItWas) {
  sink_->earlier_life_of_run.relays = {{.relay = "a", .acknowledged = 5, .said_goodbye = true, .exit_status = 0}};
  EXPECT_EQ(attach("a", 5).durable, 5u);
  ASSERT_THAT(closings_, SizeIs(1));
  EXPECT_TRUE(closings_[0].farewell);
  EXPECT_TRUE(closings_[0].nothing_new);
  EXPECT_EQ(goodbye("a", 5).durable, 5u);
  EXPECT_EQ(opened_, 1);
  EXPECT_THAT(sink_->missing, IsEmpty());
}

TEST_F(RunRestartTest, RelaysOfAnEarlierLifeAreWaitedForAsOthersAre) {
  sink_->earlier_life_of_run.relays = {{.relay = "a", .acknowledged = 5}};
  attach("b");
  goodbye("b", 1);
  const auto now = ingest::Run::Clock::now();
  table_.close_abandoned(now, std::chrono::minutes(2));
  EXPECT_THAT(closings_, IsEmpty());
  table_.close_abandoned(now + std::chrono::minutes(3), std::chrono::minutes(2));
  ASSERT_THAT(closings_, SizeIs(1));
  EXPECT_FALSE(closings_[0].farewell);
  EXPECT_EQ(closings_[0].unseen, "relay a did not say goodbye: what came after the last message is not known");
}

TEST_F(RunRestartTest, ARunThatWasLeftOpenIsClosedIfAllItsRelaysHadSaidGoodbye) {
  sink_->earlier_life_of_run.relays = {{.relay = "a", .acknowledged = 5, .said_goodbye = true, .exit_status = 7}};
  table_.take_up({.id = "run"});
  ASSERT_THAT(closings_, SizeIs(1));
  EXPECT_TRUE(closings_[0].farewell);
  EXPECT_EQ(closings_[0].exit_status, 7);
}

TEST_F(RunRestartTest, ARunThatWasLeftOpenWaitsForItsRelays) {
  sink_->earlier_life_of_run.relays = {{.relay = "a", .acknowledged = 5}, {.relay = "b", .acknowledged = 5}};
  table_.take_up({.id = "run"});
  EXPECT_THAT(closings_, IsEmpty());
  const auto now = ingest::Run::Clock::now();
  table_.close_abandoned(now, std::chrono::minutes(2));
  EXPECT_THAT(closings_, IsEmpty());
  table_.close_abandoned(now + std::chrono::minutes(3), std::chrono::minutes(2));
  ASSERT_THAT(closings_, SizeIs(1));
  EXPECT_EQ(closings_[0].unseen, "the relays a, b did not say goodbye: what came after the last message is not known");
}

TEST_F(RunRestartTest, ARunThatNobodyHadSentAnythingForIsClosedAsOneWithoutGoodbye) {
  table_.take_up({.id = "run"});
  EXPECT_THAT(closings_, IsEmpty());
  table_.close_abandoned(ingest::Run::Clock::now(), std::chrono::minutes(2));
  ASSERT_THAT(closings_, SizeIs(1));
  EXPECT_FALSE(closings_[0].farewell);
}

TEST_F(RunRestartTest, ARunThatCannotBeTakenUpMayBeOpenedLater) {
  can_open_ = absl::UnavailableError("another castscope writes it");
  table_.take_up({.id = "run"});
  can_open_ = absl::OkStatus();
  EXPECT_EQ(attach("a").out_of_order, "");
}

TEST_F(RunRestartTest, WhoeverKeepsTheRunLearnsOnceThatItGoesOn) {
  sink_->earlier_life_of_run.relays = {{.relay = "a", .acknowledged = 5, .said_goodbye = true}};
  attach("a", 5);
  attach("b");
  EXPECT_EQ(gone_on_, 0);
  apply("b", Batch().begin().sequence(1).flush());
  apply("b", Batch().casts(1, 0, 3, 1).sequence(2).flush());
  EXPECT_EQ(gone_on_, 1);
}

// The file does not say whose the run is.
TEST_F(RunRestartTest, WhoeverKeepsTheRunLearnsByWhichTokenItsRelaysCome) {
  sink_->earlier_life_of_run.relays = {{.relay = "a", .acknowledged = 5}};
  table_.take_up({.id = "run"});
  const auto come = [this](const std::string& relay, const std::string& token) {
    ingest::Run::Reply reply;
    EXPECT_TRUE(run().attach({.id = "run", .sender = "team", .token = token}, &stream(relay), 0, &reply).ok());
  };
  come("a", "first");
  come("b", "second");
  EXPECT_THAT(let_in_, testing::ElementsAre("team by first", "team by second"));
}

TEST_F(RunRestartTest, WhoDoesNotOwnTheRunIsNotItsSender) {
  sink_->earlier_life_of_run.relays = {{.relay = "a", .acknowledged = 5}};
  table_.take_up({.id = "run", .owner = "key"});
  ingest::Run::Reply reply;
  EXPECT_FALSE(run().attach({.id = "run", .owner = "other", .sender = "team"}, &stream("b"), 0, &reply).ok());
  EXPECT_THAT(let_in_, IsEmpty());
}

TEST_F(RunRestartTest, AProcessKeepsItsIdentityOverARestart) {
  sink_->earlier_life_of_run = {.relays = {{.relay = "a", .acknowledged = 1}},
                                .processes = {{.key = "host/1/1/0", .host = "elsewhere", .pid = 1, .start_ticks = 1}},
                                .rejected = {}};
  attach("a", 1);
  const auto rejections = apply("a", Batch().begin().sequence(2).flush()).rejections;
  ASSERT_THAT(rejections, SizeIs(1));
  EXPECT_THAT(rejections[0].sentence(), HasSubstr("two processes cannot have one key"));
  EXPECT_THAT(sink_->processes, IsEmpty());
}

TEST_F(RunRestartTest, ARejectedProcessStaysRejectedOverARestart) {
  sink_->earlier_life_of_run = {
      .relays = {{.relay = "a", .acknowledged = 1}},
      .processes = {},
      .rejected = {{store::IncompleteReason::kProcessRejected, "host/1/1/0", "process host/1/1/0 sent junk"}}};
  attach("a", 1);
  const auto rejections = apply("a", Batch().begin().sequence(2).flush()).rejections;
  ASSERT_THAT(rejections, SizeIs(1));
  EXPECT_EQ(rejections[0].sentence(), "process host/1/1/0 sent junk");
  EXPECT_THAT(sink_->processes, IsEmpty());
  EXPECT_THAT(apply("a", Batch().begin().sequence(3).flush()).rejections, IsEmpty());
}

TEST_F(RunRestartTest, ARunThatEndedIsForgottenAfterAWhileAndItsFileKnowsIt) {
  using std::chrono::seconds;
  const ingest::Run::Clock::time_point end{};
  attach("a");
  apply("a", Batch().begin().sequence(1));
  goodbye("a", 2, 7);
  table_.close_abandoned(end + seconds(60), seconds(120));
  EXPECT_EQ(table_.size(), 1u) << "its stream has not ended";
  run().detach(stream("a"), end);
  table_.close_abandoned(end + seconds(9), seconds(120));
  EXPECT_EQ(table_.size(), 1u);
  {
    const std::shared_ptr<ingest::Run> in_use = table_.find_or_add({.id = "run"});
    table_.close_abandoned(end + seconds(10), seconds(120));
    EXPECT_EQ(table_.size(), 1u);
  }
  table_.close_abandoned(end + seconds(10), seconds(120));
  EXPECT_EQ(table_.size(), 0u);
  sink_->earlier_life_of_run = {.relays = {sink_->relays["a"]},
                                .processes = {{.key = "host/1/1/0", .host = "host", .pid = 1, .start_ticks = 1}},
                                .rejected = {}};
  EXPECT_EQ(attach("a", 1).durable, 2u);
  EXPECT_EQ(apply("a", Batch().begin().sequence(1)).out_of_order, "");
  EXPECT_EQ(goodbye("a", 2, 7).durable, 2u);
  ASSERT_THAT(closings_, SizeIs(2));
  EXPECT_TRUE(closings_[1].farewell && closings_[1].nothing_new);
}

TEST_F(RunRestartTest, ARunThatIsOpenOrHasFailedIsNotForgotten) {
  using std::chrono::hours;
  const ingest::Run::Clock::time_point end{};
  attach("a");
  run().detach(stream("a"), end);
  table_.close_abandoned(end + hours(1), hours(2));
  EXPECT_EQ(table_.size(), 1u);
  attach("a");
  sink_->next_commit = absl::ResourceExhaustedError("disk full");
  ingest::Run::Reply reply;
  EXPECT_FALSE(run().apply(stream("a"), Batch().begin().sequence(1).flush(), &reply).ok());
  run().detach(stream("a"), end);
  can_open_ = absl::ResourceExhaustedError("disk full");
  table_.close_abandoned(end + hours(3), hours(2));
  EXPECT_THAT(closings_, IsEmpty());
  EXPECT_EQ(table_.size(), 1u);
}

}  // namespace
}  // namespace castscope::ingest
