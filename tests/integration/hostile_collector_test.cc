// A relay, and what answers in a collector's place: the connection is ended after a bounded time, the user can be told
// why, and what was not taken is kept and comes to an honest collector whole.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <mutex>

#include "proto/castscope/v1/castscope.grpc.pb.h"
#include "proto/protocol.h"
#include "server/ingest/server.h"
#include "server/ingest/testing/recording_sink.h"
#include "server/relay/relay.h"
#include "server/relay/sending/bring_home.h"
#include "server/relay/sending/connect.h"
#include "tests/integration/wire_job.h"

namespace castscope {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

using Messages = grpc::ServerReaderWriter<v1::CollectorMessage, v1::RelayMessage>;

class Hostile : public v1::Collector::Service {
 public:
  explicit Hostile(std::function<void(Messages&)> talk) : talk_(std::move(talk)) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~Hostile() override { server_->Shutdown(std::chrono::system_clock::now()); }
  std::shared_ptr<grpc::Channel> channel() { return *relay::connect("127.0.0.1:" + std::to_string(port_)); }
  std::atomic<int> streams = 0;

 private:
  grpc::Status Stream(grpc::ServerContext*, Messages* stream) override {
    ++streams;
    talk_(*stream);
    return grpc::Status::OK;
  }
  const std::function<void(Messages&)> talk_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

void read_to_its_end(Messages& stream) {
  for (v1::RelayMessage message; stream.Read(&message);) continue;
}

void welcome(Messages& stream) {
  v1::CollectorMessage answer;
  answer.mutable_welcome()->set_protocol(wire::kProtocol);
  stream.Write(answer);
}

v1::CollectorMessage acknowledgement(std::uint64_t sequence) {
  v1::CollectorMessage answer;
  answer.mutable_ack()->set_sequence(sequence);
  return answer;
}

class HostileCollectorTest : public testing::Test {
 protected:
  static constexpr int kCasts = 1000;
  HostileCollectorTest() {
    WireJob::Thread thread(job_);
    for (int i = 0; i < kCasts; ++i) thread.cast();
    job_.segment().mark_end(lanes::EndMark::kExited, 0 + 1);
  }
  std::unique_ptr<relay::Relay> relay_to(Hostile& collector, std::chrono::milliseconds patience_for_silence = 100ms,
                                         std::chrono::milliseconds patience_for_next_answer = 1h) {
    relay::Options options{.run_directory = run_.path(),
                           .run = {.id = "run", .host = "host"},
                           .channel = collector.channel(),
                           .flush_interval = 20ms,
                           .event_interval = 20ms,
                           .patience_for_next_answer = patience_for_next_answer,
                           .patience_for_silence = patience_for_silence};
    options.make_spool = [this](const v1::Hello& hello) {
      return relay::Spool::create(spool_, {.address = "host:1"}, hello, 1 << 20);
    };
    options.say = [this](const std::string& sentence) {
      const std::lock_guard lock(mutex_);
      said_.push_back(sentence);
    };
    auto relay = std::make_unique<relay::Relay>(std::move(options));
    EXPECT_TRUE(relay->start().ok());
    return relay;
  }
  // Waits until the condition is true; ctest ends a test that waits for ever.
  template <typename Condition>
  void wait_until(Condition condition) {
    while (!condition()) {
      std::unique_lock lock(waiting_);
      pause_.wait_for(lock, 1ms);
    }
  }
  // While the job runs the connection is tried again and again, and the trouble has a name; at the end all is on disk.
  void keeps_all(Hostile& collector, const std::string& trouble) {
    const auto relay = relay_to(collector);
    wait_until([&] { return collector.streams >= 2; });
    EXPECT_THAT(relay->trouble(), HasSubstr(trouble));
    const relay::Summary summary = relay->stop({.exit_status = 0}, 200ms);
    EXPECT_FALSE(summary.delivered);
    EXPECT_THAT(summary.problem, HasSubstr(trouble));
    EXPECT_EQ(summary.spool, spool_);
  }
  void comes_home() {
    const auto sink = std::make_shared<ingest::RecordingSink>();
    auto honest =
        ingest::Server::start({.address = "127.0.0.1:0"}, {.open = [sink](auto&) { return sink; }, .close = {}});
    ASSERT_TRUE(honest.ok()) << honest.status();
    const auto home = relay::bring_home(spool_, {.channel = *relay::connect((*honest)->address())});
    ASSERT_TRUE(home.ok()) << home.status();
    EXPECT_TRUE(home->sent);
    const auto& process = sink->only();
    EXPECT_EQ(process.counters.at({1, WireJob::kSite}).casts, std::uint64_t{kCasts});
    const store::LaneRow& lane = process.lanes.at(1).row;
    EXPECT_EQ(lane.received, lane.written);
    EXPECT_EQ(lane.dropped, 0u);
  }

  TemporaryDirectory run_, kept_;
  const std::string spool_ = kept_.path() + "/a.spool";
  WireJob job_{run_.path()};
  std::mutex mutex_, waiting_;
  std::condition_variable pause_;
  std::vector<std::string> said_;
};

TEST_F(HostileCollectorTest, OneThatNeverAnswersTheHello) {
  Hostile collector(read_to_its_end);
  keeps_all(collector, "the collector does not answer");
  comes_home();
}

TEST_F(HostileCollectorTest, OneThatNeverAcknowledges) {
  Hostile collector([](Messages& stream) {
    welcome(stream);
    read_to_its_end(stream);
  });
  keeps_all(collector, "the collector acknowledges nothing of what it is sent");
  comes_home();
}

TEST_F(HostileCollectorTest, ThePatienceThatWasOverAtTheEndIsNamed) {
  Hostile collector([](Messages& stream) {
    welcome(stream);
    read_to_its_end(stream);
  });
  EXPECT_EQ(relay_to(collector, 1h, 50ms)->stop({.exit_status = 0}, 1h).problem,
            "the collector did not acknowledge everything: nothing more for 50 ms");
}

TEST_F(HostileCollectorTest, OneThatAcknowledgesWhatItWasNeverSent) {
  Hostile collector([](Messages& stream) {
    welcome(stream);
    stream.Write(acknowledgement(std::uint64_t{1} << 60));
    read_to_its_end(stream);
  });
  keeps_all(collector, "the collector acknowledges what it was never sent");
  comes_home();
}

TEST_F(HostileCollectorTest, OneThatAnswersWithoutEnd) {
  Hostile collector([](Messages& stream) {
    welcome(stream);
    while (stream.Write(acknowledgement(0))) continue;
  });
  keeps_all(collector, "the collector sends answers without end");
  comes_home();
}

// A quota may do that, too: all counts come, and the user is told once.
TEST_F(HostileCollectorTest, OneThatWantsNoEventsForEver) {
  Hostile collector([](Messages& stream) {
    welcome(stream);
    for (v1::RelayMessage message; stream.Read(&message);) {
      v1::CollectorMessage answer = acknowledgement(message.batch().sequence());
      answer.mutable_ack()->set_hold_events(true);
      stream.Write(answer);
    }
  });
  const auto relay = relay_to(collector);
  wait_until([this] {
    const std::lock_guard lock(mutex_);
    return !said_.empty();
  });
  const relay::Summary summary = relay->stop({.exit_status = 0}, 200ms);
  EXPECT_THAT(said_, ElementsAre(HasSubstr("the collector takes counts alone now")));
}

// Of those who send side by side one may have to wait until the others are done.
TEST_F(HostileCollectorTest, WhoWaitsIsPatientWhileOthersGetOn) {
  {
    Hostile away([](Messages&) {});
    EXPECT_EQ(relay_to(away)->stop({.exit_status = 0}, 200ms).spool, spool_);
  }
  const auto sink = std::make_shared<ingest::RecordingSink>();
  auto honest =
      ingest::Server::start({.address = "127.0.0.1:0"}, {.open = [sink](auto&) { return sink; }, .close = {}});
  relay::BringHomeOptions options{.channel = *relay::connect((*honest)->address()), .patience = 0ms};
  EXPECT_FALSE(relay::bring_home(spool_, options).ok());
  options.last_taken = std::make_shared<relay::LastTaken>(std::chrono::steady_clock::now() + 1h);
  EXPECT_TRUE(relay::bring_home(spool_, options).ok());
}

}  // namespace
}  // namespace castscope
