// A relay that is to hold its events: the run's file says why before the relay is told, so that what its processes drop
// has a sentence, whatever comes next.
#include "server/ingest/run/run_table_test.h"

namespace castscope::ingest {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using How = EventsWanted::How;
using Batch = BatchBuilder;

class RunQuotaTest : public RunTableTest {
 protected:
  void hold() { wanted_ = {.how = How::kHold, .why = "the quota is used up"}; }
  ingest::Run::Reply ask(const std::string& relay) {
    ingest::Run::Reply reply;
    EXPECT_TRUE(run().ask(stream(relay), &reply).ok());
    return reply;
  }
};

// The quota is used up by the very message, and there is room again, or no quota any more, before the next one.
TEST_F(RunQuotaTest, TheFileSaysWhyBeforeARelayIsTold) {
  attach("a");
  EXPECT_FALSE(apply("a", Batch().begin().sequence(1).flush()).hold_events);
  EXPECT_THAT(sink_->notices, IsEmpty());
  hold();
  const int before = sink_->commits;
  EXPECT_TRUE(ask("a").hold_events);
  EXPECT_THAT(sink_->notices, ElementsAre("the quota is used up"));
  EXPECT_EQ(sink_->commits, before + 1);
  EXPECT_TRUE(ask("a").hold_events);
  EXPECT_EQ(sink_->commits, before + 1) << "once is enough";
  wanted_ = {};
  EXPECT_FALSE(apply("a", Batch().sequence(2).flush()).hold_events);
}

TEST_F(RunQuotaTest, ARelayThatComesBackIsTold) {
  sink_->earlier_life_of_run.relays = {{.relay = "a", .acknowledged = 5}};
  table_.take_up({.id = "run"});
  hold();
  EXPECT_TRUE(attach("a", 5).hold_events);
  EXPECT_THAT(sink_->notices, ElementsAre("the quota is used up"));
}

// What was not committed when the file was given up is not in it.
TEST_F(RunQuotaTest, TheSentenceIsSaidAgainWhenTheFileWasOpenedAnew) {
  attach("a");
  apply("a", Batch().begin().sequence(1).flush());
  hold();
  sink_->next_commit = absl::ResourceExhaustedError("the disk is full");
  ingest::Run::Reply reply;
  EXPECT_FALSE(run().ask(stream("a"), &reply).ok());
  EXPECT_FALSE(reply.send);
  EXPECT_FALSE(reply.hold_events);
  sink_->next_commit = absl::OkStatus();
  sink_->notices.clear();
  sink_->earlier_life_of_run = {.relays = {{.relay = "a", .acknowledged = 1}},
                                .processes = {{.key = "host/1/1/0", .host = "host", .pid = 1}},
                                .rejected = {}};
  EXPECT_TRUE(attach("a", 1).hold_events);
  EXPECT_THAT(sink_->notices, ElementsAre("the quota is used up"));
}

// A run that is over does not change because of a quota.
TEST_F(RunQuotaTest, WhoSendsNothingMoreIsNotTold) {
  attach("a");
  attach("b");
  goodbye("a", 1);
  hold();
  EXPECT_FALSE(ask("a").hold_events) << "it said goodbye";
  EXPECT_THAT(sink_->notices, IsEmpty());
  goodbye("b", 1);
  attach("new");
  EXPECT_FALSE(ask("new").hold_events) << "it has sent nothing";
  EXPECT_THAT(sink_->notices, IsEmpty());
}

}  // namespace
}  // namespace castscope::ingest
