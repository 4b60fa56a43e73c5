#include "server/ingest/run/run_table_test.h"

#include "absl/strings/str_cat.h"

namespace castscope::ingest {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Batch = BatchBuilder;

TEST_F(RunTableTest, EachAnswerSaysWhetherSomebodyWatches) {
  attach("a");
  EXPECT_FALSE(apply("a", Batch().begin().sequence(1).flush()).watched);
  watched_ = "run";
  EXPECT_TRUE(apply("a", Batch().sequence(2).flush()).watched);
  watched_ = "another";
  EXPECT_FALSE(apply("a", Batch().sequence(3).flush()).watched);
}

TEST_F(RunTableTest, ARelayThatAsksIsAnsweredAndWhatOthersSentIsNotCommittedForThat) {
  attach("a");
  attach("b");
  sink_->commits = 0;
  apply("a", Batch().begin().sequence(1).flush());
  apply("b", Batch().sequence(1));
  watched_ = "run";
  ingest::Run::Reply reply;
  EXPECT_TRUE(run().ask(stream("a"), &reply).ok());
  EXPECT_TRUE(reply.send);
  EXPECT_TRUE(reply.watched);
  EXPECT_EQ(reply.durable, 1u);
  EXPECT_EQ(sink_->commits, 1);
}

TEST_F(RunTableTest, WhatARelaySentBeforeItAsksIsDurable) {
  attach("a");
  apply("a", Batch().begin().sequence(1));
  ingest::Run::Reply reply;
  EXPECT_TRUE(run().ask(stream("a"), &reply).ok());
  EXPECT_EQ(reply.durable, 1u);
}

TEST_F(RunTableTest, AcknowledgesOnlyWhatIsCommitted) {
  attach("a");
  sink_->commits = 0;
  EXPECT_FALSE(apply("a", Batch().begin().sequence(1)).send);
  EXPECT_EQ(sink_->commits, 0);
  const ingest::Run::Reply reply = apply("a", Batch().sequence(2).flush());
  EXPECT_TRUE(reply.send);
  EXPECT_EQ(reply.durable, 2u);
  EXPECT_EQ(sink_->commits, 1);
}

TEST_F(RunTableTest, CommitsUnaskedBeforeItGetsTooMuch) {
  attach("a");
  apply("a", Batch().begin().text(1, std::string(60'000, 'x')).sequence(1));
  for (std::uint64_t n = 2; sink_->commits == 0 && n < 1000; ++n)
    apply("a", Batch().text(1, std::string(60'000, 'x')).sequence(n));
  EXPECT_EQ(sink_->commits, 1);
}

TEST_F(RunTableTest, ABatchSentAgainIsAcknowledgedAndNotApplied) {
  attach("a");
  apply("a", Batch().begin().site(1).casts(1, 0, 3, 1).sequence(1).flush());
  attach("a");
  const ingest::Run::Reply reply = apply("a", Batch().begin().site(1).casts(1, 0, 3, 1).sequence(1).flush());
  EXPECT_EQ(reply.durable, 1u);
  EXPECT_EQ(sink_->only().lanes[1].events.size(), 3u);
}

TEST_F(RunTableTest, TellsAReturningRelayWhatIsDurable) {
  attach("a");
  apply("a", Batch().begin().sequence(1).flush());
  ingest::Run::Reply reply;
  EXPECT_TRUE(attached("a", 0, &reply).ok());
  EXPECT_TRUE(reply.send);
  EXPECT_EQ(reply.durable, 1u);
}

TEST_F(RunTableTest, ClosesWhenTheLastRelayIsDone) {
  attach("a");
  attach("b");
  goodbye("a", 1, 7);
  EXPECT_THAT(closings_, SizeIs(0));
  goodbye("b", 1, -1);
  ASSERT_THAT(closings_, SizeIs(1));
  EXPECT_TRUE(closings_[0].farewell);
  EXPECT_EQ(closings_[0].exit_status, 7);
}

TEST_F(RunTableTest, ARelayWhoseLastAcknowledgementWasLostGetsIt) {
  attach("a", 4);
  goodbye("a", 5);
  attach("a", 4);
  EXPECT_EQ(goodbye("a", 5).durable, 5u);
  EXPECT_EQ(opened_, 1);
  EXPECT_THAT(closings_, SizeIs(1));
}

TEST_F(RunTableTest, OpensAgainForARelayThatComesLater) {
  attach("a");
  goodbye("a", 1);
  attach("b");
  EXPECT_EQ(opened_, 2);
}

TEST_F(RunTableTest, ShutdownCommitsAndClosesWithoutFarewell) {
  attach("a");
  sink_->commits = 0;
  apply("a", Batch().begin().sequence(1));
  table_.shutdown();
  EXPECT_EQ(sink_->commits, 1);
  ASSERT_THAT(closings_, SizeIs(1));
  EXPECT_FALSE(closings_[0].farewell);
}

// To close a run may take so long that those after it are left open.
TEST_F(RunTableTest, ShutdownCommitsAllRunsBeforeItClosesTheFirst) {
  std::vector<int> commits_at_close;
  RunKeeper keeper{.open = [this](const RunOpening&) { return sink_; },
                   .close = [&](const std::string&, const RunClosing&) { commits_at_close.push_back(sink_->commits); }};
  RunTable table(keeper);
  for (const char* id : {"one", "two"}) {
    const auto run = table.find_or_add({.id = id});
    ingest::Run::Reply reply;
    ingest::Run::Stream stream{.relay = "a"};
    EXPECT_TRUE(run->attach({.id = id}, &stream, 0, &reply).ok());
    EXPECT_TRUE(run->apply(stream, Batch().begin().sequence(1), &reply).ok());
  }
  sink_->commits = 0;
  table.shutdown();
  EXPECT_THAT(commits_at_close, testing::ElementsAre(2, 2));
}

TEST_F(RunTableTest, SaysWhyARunCannotBeOpenedAndTriesAgain) {
  can_open_ = absl::PermissionDeniedError("cannot write there");
  ingest::Run::Reply reply;
  EXPECT_EQ(attached("a", 0, &reply).message(), "cannot write there");
  can_open_ = absl::OkStatus();
  attach("a");
  EXPECT_EQ(apply("a", Batch().begin().sequence(1).flush()).durable, 1u);
}

TEST_F(RunTableTest, TellsARejectionWithTheNextAcknowledgement) {
  attach("a");
  EXPECT_FALSE(apply("a", Batch().site(1).sequence(1)).send);
  const ingest::Run::Reply reply = apply("a", Batch("other").begin().sequence(2).flush());
  ASSERT_THAT(reply.rejections, SizeIs(1));
  EXPECT_EQ(reply.rejections[0].process_key(), "host/1/1/0");
  EXPECT_THAT(reply.rejections[0].sentence(), HasSubstr("before it was introduced"));
  EXPECT_THAT(apply("a", Batch("other").sequence(3).flush()).rejections, SizeIs(0)) << "once in a stream";
  ingest::Run::Reply again;  // the stream broke, so the relay does not know whether the batch arrived
  EXPECT_TRUE(attached("a", 0, &again).ok());
  EXPECT_THAT(again.rejections, SizeIs(1));
}

TEST_F(RunTableTest, WhatIsRejectedReachesTheFile) {
  attach("a");
  sink_->commits = 0;
  apply("a", Batch("never introduced").site(1).sequence(1));
  apply("a", Batch("junk").begin().raw(static_cast<lanes::DefinitionKind>(77), 1, "").sequence(2));
  apply("a", Batch("junk").sequence(3));
  apply("a", Batch("").begin().sequence(4).flush());
  ASSERT_THAT(sink_->missing, SizeIs(3));
  EXPECT_EQ(sink_->missing[0], (store::Incomplete{store::IncompleteReason::kProcessRejected, "never introduced",
                                                  "process never introduced sent a batch before it was introduced; "
                                                  "the rest of it is ignored"}));
  EXPECT_EQ(sink_->missing[1].process, "junk");
  EXPECT_THAT(sink_->missing[1].sentence, HasSubstr("a definition of the unknown kind 77"));
  EXPECT_EQ(sink_->missing[2].reason, store::IncompleteReason::kBatchRejected);
  EXPECT_EQ(sink_->missing[2].process, "");
  EXPECT_THAT(sink_->missing[2].sentence, HasSubstr("without the name of its process"));
  EXPECT_EQ(sink_->commits, 1) << "with the batch that they came from";
}

TEST_F(RunTableTest, WhatARelayNeverSawIsToldToTheFile) {
  attach("a");
  apply("a", Batch().begin().sequence(1));
  v1::Goodbye message;
  message.set_sequence(2);
  const auto add = [&message](int reason, const char* process, const char* sentence) {
    v1::Missing& missing = *message.add_missing();
    missing.set_incomplete_reason(static_cast<v1::MissingReason>(reason));
    missing.set_process_key(process);
    missing.set_sentence(sentence);
  };
  add(v1::MISSING_REASON_RUN_DIRECTORY_LOST, "", "the folder is gone");
  add(v1::MISSING_REASON_PROCESS_MISSING, "host/7/1/0", "process 7 is missing");
  add(v1::MISSING_REASON_PROCESS_UNRECORDED, "", "process 8 is not recorded");
  add(99, "", "of a newer relay");
  add(v1::MISSING_REASON_PROCESS_MISSING, "", "");
  ingest::Run::Reply reply;
  ASSERT_TRUE(run().goodbye(stream("a"), message, &reply).ok());
  using enum store::IncompleteReason;
  EXPECT_THAT(sink_->missing,
              testing::ElementsAre(
                  store::Incomplete{kRunDirectoryLost, "", "the folder is gone"},
                  store::Incomplete{kProcessMissing, "host/7/1/0", "process 7 is missing"},
                  store::Incomplete{kProcessUnrecorded, "", "process 8 is not recorded"},
                  store::Incomplete{kUnknown, "", "of a newer relay"},
                  store::Incomplete{kProcessMissing, "", "relay a says that something is missing, and not what"}));
}

// ---- the order of a relay's messages

constexpr const char* kFourWasDue =
    "relay a sent message 5 where message 4 was due: it was not taken, for what is acknowledged has no gaps";

TEST_F(RunTableTest, ABatchAfterAGapIsNotAcknowledged) {
  attach("a");
  apply("a", Batch().begin().sequence(1));
  apply("a", Batch().sequence(2));
  apply("a", Batch().sequence(3));
  const ingest::Run::Reply reply = apply("a", Batch().site(1).sequence(5).flush());
  EXPECT_EQ(reply.out_of_order, kFourWasDue);
  EXPECT_FALSE(reply.send);
  EXPECT_EQ(sink_->definitions, 0);
  EXPECT_EQ(attach("a").durable, 3u);
  EXPECT_EQ(apply("a", Batch().sequence(4).flush()).durable, 4u);
  EXPECT_EQ(apply("a", Batch().sequence(5).flush()).durable, 5u);
  goodbye("a", 6);
  EXPECT_THAT(sink_->missing, SizeIs(0)) << "it came after all";
}

TEST_F(RunTableTest, AGapThatStaysIsToldToTheFile) {
  attach("a");
  apply("a", Batch().begin().sequence(1));
  run().detach(stream("a"), {});
  attach("b");
  goodbye("b", 2);
  goodbye("b", 1);
  attach("a");
  apply("a", Batch().sequence(2));
  apply("a", Batch().sequence(3));
  apply("a", Batch().sequence(5));
  table_.shutdown();
  ASSERT_THAT(sink_->missing, SizeIs(1));
  EXPECT_EQ(sink_->missing[0], (store::Incomplete{store::IncompleteReason::kBatchRejected, "", kFourWasDue}));
  EXPECT_EQ(sink_->commits, 5) << "two relays, the goodbye, the last batches, the gap";
}

TEST_F(RunTableTest, AGoodbyeAfterAGapIsNone) {
  attach("a");
  apply("a", Batch().begin().sequence(1));
  EXPECT_EQ(goodbye("a", 3).out_of_order,
            "relay a sent message 3 where message 2 was due: it was not taken, for what is acknowledged has no gaps");
  EXPECT_THAT(goodbye("a", 1).out_of_order, HasSubstr("message 1 where message 2 was due"));
  EXPECT_THAT(closings_, SizeIs(0));
  EXPECT_EQ(goodbye("a", 2).durable, 2u);
  EXPECT_THAT(closings_, SizeIs(1));
}

TEST_F(RunTableTest, ABatchAfterTheGoodbyeIsRefusedAndTheFileSaysSo) {
  attach("a");
  apply("a", Batch().begin().sequence(1));
  goodbye("a", 2);
  for (int again = 0; again < 2; ++again) {
    const ingest::Run::Reply reply = apply("a", Batch().site(1).sequence(3).flush());
    EXPECT_EQ(reply.out_of_order, "relay a sent batch 3 after its goodbye: it was not taken");
    EXPECT_FALSE(reply.send);
  }
  EXPECT_EQ(sink_->definitions, 0);
  ASSERT_THAT(sink_->missing, SizeIs(1));
  EXPECT_EQ(sink_->missing[0].sentence, "relay a sent batch 3 after its goodbye: it was not taken");
  ASSERT_THAT(closings_, SizeIs(2));
  EXPECT_TRUE(closings_[1].farewell);
  EXPECT_EQ(opened_, 2);
}

// The goodbye's acknowledgement was lost: the relay comes back, introduces its processes, and says goodbye again.
TEST_F(RunTableTest, IntroductionsAfterTheGoodbyeDoNotOpenTheRunAgain) {
  attach("a");
  apply("a", Batch().begin().sequence(1));
  goodbye("a", 2);
  attach("a");
  EXPECT_EQ(apply("a", Batch().begin()).out_of_order, "");
  EXPECT_EQ(goodbye("a", 2).durable, 2u);
  EXPECT_EQ(opened_, 1);
  EXPECT_THAT(closings_, SizeIs(1));
}

TEST_F(RunTableTest, OfSeveralEndsOneThatIsNoSuccessCounts) {
  for (const char* relay : {"a", "b", "c"}) attach(relay);
  goodbye("b", 1, 0);
  goodbye("a", 1, 7);
  goodbye("c", 1, -1);
  ASSERT_THAT(closings_, SizeIs(1));
  EXPECT_EQ(closings_[0].exit_status, 7);
}

TEST_F(RunTableTest, AnotherRunUnderTheSameNamesIsRefused) {
  attach("a");
  apply("a", Batch("first").begin().sequence(1));
  goodbye("a", 2);
  attach("a");
  const std::string sentence = apply("a", Batch("second").begin().sequence(1).flush()).out_of_order;
  EXPECT_EQ(sentence,
            "relay a introduces process second in message 1, and message 2 was acknowledged to it before: it was not "
            "taken; a new run needs a new run_id");
  EXPECT_EQ(goodbye("a", 9).out_of_order,
            "relay a says goodbye with message 9, and said it with message 2 before: it was not taken; a new run needs "
            "a new run_id");
  EXPECT_EQ(
      goodbye("a", 2, 7).out_of_order,
      "relay a says goodbye with exit code 7, signal 0 and 0 processes that still ran, and said it with exit code "
      "0, signal 0 and 0 processes that still ran before: it was not taken; a new run needs a new run_id");
  EXPECT_EQ(opened_, 1);
}

TEST_F(RunTableTest, WhatWasAcknowledgedAndIsInNoFileIsMissing) {
  EXPECT_EQ(attach("a", 10).durable, 10u);
  apply("a", Batch().begin().sequence(11).flush());
  goodbye("a", 12);
  ASSERT_THAT(sink_->missing, SizeIs(1));
  EXPECT_EQ(sink_->missing[0].sentence,
            "messages 1 to 10 of relay a were acknowledged before this file began: what they told is not in it");
}

TEST_F(RunTableTest, AMessageThatIsRefusedForWhatItIsIsToldToTheFile) {
  attach("a");
  sink_->commits = 0;
  run().refused("a", "a second hello came");
  ASSERT_THAT(sink_->missing, SizeIs(1));
  EXPECT_EQ(sink_->missing[0].sentence, "relay a: a second hello came");
  EXPECT_EQ(sink_->commits, 1);
}

TEST_F(RunTableTest, AnExitStatusThatNoProcessHasIsNotTaken) {
  for (const int impossible : {256, -2}) {
    sink_->missing.clear();
    const std::string relay = absl::StrCat("r", impossible);
    attach(relay);
    EXPECT_EQ(goodbye(relay, 1, impossible).durable, 1u);
    ASSERT_THAT(sink_->missing, SizeIs(1));
    EXPECT_THAT(sink_->missing[0].sentence, HasSubstr(absl::StrCat("exit code ", impossible, " and signal 0")));
    EXPECT_EQ(closings_.back().exit_status, -1);
  }
}

TEST_F(RunTableTest, ARelayOfAnOlderProtocolBeginsWhereItLikes) {
  attach("a", std::nullopt);
  EXPECT_EQ(apply("a", Batch().begin().sequence(11).flush()).durable, 11u);
  EXPECT_THAT(apply("a", Batch().sequence(13)).out_of_order, HasSubstr("message 13 where message 12 was due"));
}

TEST_F(RunTableTest, ARelayToldOfMoreThanTheFileHasGoesOnAndTheFileSaysSo) {
  attach("a");
  apply("a", Batch().begin().sequence(1).flush());
  EXPECT_EQ(attach("a", 7).durable, 7u);
  EXPECT_EQ(sink_->relays["a"].acknowledged, 7u);
  ASSERT_THAT(sink_->missing, SizeIs(1));
  EXPECT_EQ(sink_->missing[0].sentence,
            "messages 2 to 7 of relay a were acknowledged, and this file has lost them, or is an older copy: single "
            "events that they told are not in it");
  EXPECT_EQ(apply("a", Batch().begin().sequence(8).flush()).durable, 8u);
}

TEST_F(RunTableTest, ARelayThatNeverComesBackDoesNotKeepTheRunOpen) {
  using std::chrono::minutes;
  const ingest::Run::Clock::time_point start{};
  attach("killed");
  apply("killed", Batch().begin().sequence(1));
  run().detach(stream("killed"), start);
  attach("b");
  sink_->commits = 0;
  table_.close_abandoned(start + minutes(9), minutes(2));
  EXPECT_THAT(closings_, SizeIs(0)) << "the other one is still there";
  goodbye("b", 1);
  run().detach(stream("b"), start + minutes(9));
  EXPECT_THAT(closings_, SizeIs(0)) << "it may come back";
  table_.close_abandoned(start + minutes(1), minutes(2));
  EXPECT_THAT(closings_, SizeIs(0));
  table_.close_abandoned(start + minutes(2), minutes(2));
  ASSERT_THAT(closings_, SizeIs(1));
  EXPECT_FALSE(closings_[0].farewell);
  EXPECT_EQ(sink_->commits, 1);
  attach("killed");
  EXPECT_EQ(opened_, 2);
}

TEST(CheckHelloTest, TakesOnlyPlainNames) {
  v1::Hello hello;
  hello.set_run_id("2026-11-21.run_1");
  hello.set_relay("r");
  EXPECT_TRUE(check_hello(hello).ok());
  for (const char* bad : {"", ".", "..", "a/b", "a b", "\xc3\xa4"}) {
    hello.set_run_id(bad);
    EXPECT_FALSE(check_hello(hello).ok()) << bad;
  }
  hello.set_run_id(std::string(129, 'a'));
  EXPECT_FALSE(check_hello(hello).ok());
}

}  // namespace
}  // namespace castscope::ingest
