// Tests collector and relay together: while somebody watches a run, its events arrive soon; while a quota wants none,
// they stay where they are.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>

#include "server/ingest/server.h"
#include "server/ingest/testing/recording_sink.h"
#include "server/relay/relay.h"
#include "server/relay/sending/connect.h"
#include "tests/integration/wire_job.h"

namespace castscope {
namespace {

using namespace std::chrono_literals;

// Its counts may be read while it is being called.
class EventCounter : public ingest::RecordingSink {
 public:
  std::atomic<std::uint64_t> received = 0;
  absl::Status events(const std::string& key, const store::EventBlock& block) override {
    received += block.events.size();
    return RecordingSink::events(key, block);
  }
};

// A job that casts rarely, and a relay whose events would wait for more: for an hour.
class WatchedTest : public testing::TestWithParam<bool> {
 protected:
  WatchedTest() {
    auto server =
        ingest::Server::start({.address = "127.0.0.1:0"}, {.open = [this](const ingest::RunOpening&) { return sink_; },
                                                           .close = {},
                                                           .watched =
                                                               [this](auto& run) {
                                                                 ++asked_;
                                                                 return run == "run" && watched_;
                                                               },
                                                           .events_wanted = [this](auto&) { return wanted(); }});
    EXPECT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    const auto channel = GetParam() ? server_->in_process_channel() : *relay::connect(server_->address());
    relay_ = std::make_unique<relay::Relay>(relay::Options{.run_directory = run_.path(),
                                                           .run = {.id = "run", .host = "host"},
                                                           .channel = channel,
                                                           .flush_interval = 20ms,
                                                           .event_interval = 1h});
    EXPECT_TRUE(relay_->start().ok());
  }
  ingest::EventsWanted wanted() const {
    if (!held_) return {};
    return {.how = ingest::EventsWanted::How::kHold, .why = "the quota is used up"};
  }
  // Waits until the condition is true; ctest ends a test that waits for ever.
  template <typename Condition>
  void wait_until(Condition condition) {
    while (!condition()) (void)relay_->wait_until_quiet(1ms);
  }
  void wait_for_answers(int more) {
    wait_until([this, enough = asked_ + more] { return asked_ >= enough; });
  }

  TemporaryDirectory run_;
  const std::shared_ptr<EventCounter> sink_ = std::make_shared<EventCounter>();
  std::atomic<bool> watched_ = false, held_ = false;
  std::atomic<int> asked_ = 0;
  std::unique_ptr<ingest::Server> server_;
  std::unique_ptr<relay::Relay> relay_;
};

// The relay asks whether somebody watches even when it has nothing to send.
TEST_P(WatchedTest, EventsWaitForCompanyUntilSomebodyWatches) {
  WireJob job(run_.path());
  WireJob::Thread thread(job);
  thread.cast();
  wait_for_answers(10);
  EXPECT_EQ(sink_->received, 0u);
  watched_ = true;
  wait_until([this] { return sink_->received == 1; });
  thread.cast();
  wait_until([this] { return sink_->received == 2; });
  EXPECT_TRUE(relay_->stop({}, 10s).delivered);
}

// The relay knows that somebody watches before there is anything to send.
TEST_P(WatchedTest, TheFirstEventOfAJobComesSoon) {
  watched_ = true;
  wait_for_answers(3);
  WireJob job(run_.path());
  WireJob::Thread(job).cast();
  wait_until([this] { return sink_->received == 1; });
  EXPECT_TRUE(relay_->stop({}, 10s).delivered);
}

// What finds no room in the ring meanwhile is dropped, and counted by the process: nothing is missing.
TEST_P(WatchedTest, ARelayThatIsAskedToHoldEventsSendsCountsAlone) {
  watched_ = held_ = true;
  WireJob job(run_.path(), 1024);
  WireJob::Thread thread(job);
  wait_for_answers(3);  // by when the relay knows
  for (int i = 0; i < 5001; ++i) thread.cast();
  wait_for_answers(5);
  EXPECT_EQ(sink_->received, 0u);
  held_ = false;
  wait_until([this] { return sink_->received >= 1024; });
  thread.cast();
  EXPECT_TRUE(relay_->stop({}, 10s).delivered);
  const auto& process = sink_->only();
  EXPECT_EQ(process.counters.at({1, WireJob::kSite}).casts, 5002u);
  const store::LaneRow& lane = process.lanes.at(1).row;
  EXPECT_EQ(lane.received, lane.written);
  EXPECT_EQ(lane.received + lane.dropped, 5002u);
  EXPECT_GT(lane.dropped, 3000u);
  EXPECT_THAT(sink_->notices, testing::ElementsAre("the quota is used up"));
}

INSTANTIATE_TEST_SUITE_P(All, WatchedTest, testing::Bool(),
                         [](const auto& info) { return info.param ? "InProcess" : "OverTheNetwork"; });

}  // namespace
}  // namespace castscope
