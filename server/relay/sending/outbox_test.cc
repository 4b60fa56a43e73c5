#include "server/relay/sending/outbox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace castscope::relay {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class OutboxTest : public testing::Test {
 protected:
  void push(const std::string& process = "p", std::uint64_t end = 0) {
    auto message = std::make_unique<v1::RelayMessage>();
    message->mutable_batch()->set_process_key(process);
    outbox_.push(std::move(message), {{.source = 1, .lane = 0, .end = end, .events = end, .last = false}});
  }
  std::uint64_t next() { return sent_ = outbox_.next()->batch().sequence(); }
  // Of what was sent: what was not yet is sent before.
  void acknowledge(std::uint64_t sequence) {
    while (sent_ < sequence) (void)next();
    v1::Ack ack;
    ack.set_sequence(sequence);
    EXPECT_TRUE(outbox_.acknowledge(ack));
  }
  bool empty() { return outbox_.wait_until_empty(Outbox::Clock::now()); }

  std::uint64_t sent_ = 0;
  Outbox outbox_{100};
};

// A relay that comes back says it in its hello.
TEST_F(OutboxTest, KnowsTheLastNumberThatWasAcknowledged) {
  EXPECT_EQ(outbox_.acknowledged(), 0u);
  push();
  push();
  EXPECT_EQ(outbox_.acknowledged(), 0u);
  acknowledge(1);
  EXPECT_EQ(outbox_.acknowledged(), 1u);
  acknowledge(2);
  EXPECT_EQ(outbox_.acknowledged(), 2u);
}

TEST_F(OutboxTest, NumbersMessagesAndKeepsThemUntilAcknowledged) {
  push();
  push();
  EXPECT_EQ(next(), 1u);
  EXPECT_EQ(next(), 2u);
  EXPECT_FALSE(empty());
  acknowledge(2);
  EXPECT_TRUE(empty());
  EXPECT_EQ(outbox_.bytes(), 0u);
}

TEST_F(OutboxTest, AnAcknowledgementOfWhatWasNeverSentIsNotTaken) {
  push();
  push();
  EXPECT_EQ(next(), 1u);
  v1::Ack ack;
  ack.set_sequence(2);
  EXPECT_FALSE(outbox_.acknowledge(ack));
  EXPECT_EQ(outbox_.acknowledged(), 0u) << "nothing of it, since nothing of it can be believed";
  outbox_.want_introductions();
  outbox_.introduce({});
  EXPECT_EQ(next(), 1u);
  EXPECT_EQ(next(), 2u);
  EXPECT_TRUE(outbox_.acknowledge(ack));
  EXPECT_TRUE(empty());
}

// What came over an earlier connection may be acknowledged over the next one, before anything is sent.
TEST_F(OutboxTest, WhatWasSentBeforeTheConnectionWasLostMayBeAcknowledgedAfterIt) {
  push();
  push();
  next();
  next();
  outbox_.want_introductions();
  acknowledge(2);
  EXPECT_TRUE(empty());
}

TEST_F(OutboxTest, ACollectorThatIsAwayHoldsNoEvents) {
  v1::Ack ack;
  ack.set_hold_events(true);
  EXPECT_TRUE(outbox_.acknowledge(ack));
  EXPECT_TRUE(outbox_.holds_events());
  outbox_.interrupt();
  EXPECT_FALSE(outbox_.holds_events());
}

TEST_F(OutboxTest, AsksOnceAfterWhatThereIsToSend) {
  push();
  outbox_.ask();
  outbox_.ask();
  EXPECT_EQ(next(), 1u);
  EXPECT_TRUE(outbox_.next()->has_ask());
  push();
  EXPECT_EQ(next(), 2u);
  acknowledge(2);
  EXPECT_TRUE(empty()) << "a question waits for no acknowledgement";
}

TEST_F(OutboxTest, TellsOnceThatAnAnswerSpokeOfSomebodyWatching) {
  acknowledge(0);
  EXPECT_FALSE(outbox_.take_watched());
  v1::Ack ack;
  ack.set_watched(true);
  EXPECT_TRUE(outbox_.acknowledge(ack));
  acknowledge(0);
  EXPECT_TRUE(outbox_.take_watched());
  EXPECT_FALSE(outbox_.take_watched());
}

TEST_F(OutboxTest, HoldsEventsForAsLongAsAnswersSayThat) {
  EXPECT_FALSE(outbox_.holds_events());
  v1::Ack ack;
  ack.set_hold_events(true);
  EXPECT_TRUE(outbox_.acknowledge(ack));
  EXPECT_TRUE(outbox_.holds_events());
  acknowledge(0);
  EXPECT_FALSE(outbox_.holds_events());
}

TEST_F(OutboxTest, AnAcknowledgementCoversAllBefore) {
  for (std::uint64_t end : {10, 20, 30}) push("p", end);
  acknowledge(2);
  std::vector<std::uint64_t> ends;
  for (const Receipt& receipt : outbox_.take_acknowledged()) ends.push_back(receipt.end);
  EXPECT_THAT(ends, ElementsAre(10, 20));
  EXPECT_THAT(outbox_.take_acknowledged(), IsEmpty());
}

TEST_F(OutboxTest, SendsAgainWhatWasNotAcknowledgedAfterIntroductions) {
  push();
  push();
  push();
  next(), next();
  acknowledge(1);
  outbox_.want_introductions();
  EXPECT_TRUE(outbox_.introductions_wanted());
  auto introduction = std::make_shared<v1::RelayMessage>();
  introduction->mutable_batch()->set_process_key("again");
  outbox_.introduce({introduction});
  EXPECT_FALSE(outbox_.introductions_wanted());
  EXPECT_EQ(outbox_.next()->batch().process_key(), "again");
  EXPECT_EQ(next(), 2u);
  EXPECT_EQ(next(), 3u);
}

TEST_F(OutboxTest, IsFullByBytes) {
  EXPECT_FALSE(outbox_.full());
  push(std::string(200, 'x'));
  EXPECT_TRUE(outbox_.full());
  acknowledge(1);
  EXPECT_FALSE(outbox_.full());
}

TEST_F(OutboxTest, AnInterruptWakesTheSender) {
  std::thread sender([&] { EXPECT_EQ(outbox_.next(), nullptr); });
  outbox_.interrupt();
  sender.join();
  outbox_.resume();
  push();
  EXPECT_EQ(next(), 1u);
}

TEST_F(OutboxTest, PassesRejectionsOn) {
  v1::Ack ack;
  ack.add_rejections()->set_process_key("p");
  ack.mutable_rejections(0)->set_sentence("nonsense");
  EXPECT_TRUE(outbox_.acknowledge(ack));
  EXPECT_THAT(outbox_.take_rejections(), ElementsAre(std::pair<const std::string, std::string>("p", "nonsense")));
}

TEST_F(OutboxTest, SentencesOfRejectionsAreOneShortLine) {
  v1::Ack ack;
  ack.add_rejections()->set_process_key("p");
  ack.mutable_rejections(0)->set_sentence("nonsense\ncastscope: " + std::string(100'000, 'x'));
  EXPECT_TRUE(outbox_.acknowledge(ack));
  const std::string sentence = outbox_.take_rejections().at("p");
  EXPECT_THAT(sentence, ::testing::StartsWith("nonsense?castscope: xxx"));
  EXPECT_LT(sentence.size(), 600);
}

}  // namespace
}  // namespace castscope::relay
