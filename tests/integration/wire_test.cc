// Rings → relay → gRPC on loopback → collector → sink, with real processes and real deaths.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "proto/castscope/v1/castscope.grpc.pb.h"
#include "server/ingest/server.h"
#include "server/relay/relay.h"
#include "server/relay/sending/connect.h"
#include "tests/integration/certificate.h"
#include "tests/integration/collector_process.h"
#include "tests/integration/journal_sink.h"
#include "tests/integration/one_token.h"
#include "tests/integration/wire_job.h"

namespace castscope {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::SizeIs;

ingest::RunKeeper keeper_of(std::shared_ptr<store::RunSink> sink, std::vector<ingest::RunClosing>* closings = nullptr) {
  return {.open = [sink](const ingest::RunOpening&) { return sink; },
          .close =
              [closings](const std::string&, const ingest::RunClosing& closing) {
                if (closings != nullptr) closings->push_back(closing);
              }};
}

// This program as a CollectorProcess: `wire_test --collector ADDRESS FILE FD`. It waits to be killed.
int run_collector(char** arguments) {
  auto server =
      ingest::Server::start({.address = arguments[0]}, keeper_of(std::make_shared<JournalSink>(arguments[1])));
  const int fd = std::atoi(arguments[2]);
  const std::string address = server.ok() ? (*server)->address() : "";
  if (write(fd, address.data(), address.size()) < 0 || !server.ok()) return 1;
  close(fd);
  for (;;) pause();
}

class WireTest : public testing::Test {
 protected:
  relay::Options options(std::shared_ptr<grpc::Channel> channel, const std::string& token = "") {
    relay::Options options;
    options.token = token;
    options.run_directory = run_.path();
    options.run.id = "run";
    options.run.host = "host";
    options.channel = std::move(channel);
    options.flush_interval = options.event_interval = 20ms;
    return options;
  }
  std::unique_ptr<relay::Relay> relay_to(std::shared_ptr<grpc::Channel> channel) {
    auto relay = std::make_unique<relay::Relay>(options(std::move(channel)));
    EXPECT_TRUE(relay->start().ok());
    return relay;
  }
  std::shared_ptr<grpc::Channel> channel_to(const std::string& address) {
    auto channel = relay::connect(address);
    EXPECT_TRUE(channel.ok()) << channel.status();
    return *channel;
  }
  std::unique_ptr<ingest::Server> collector(const ingest::Options& options, ingest::RunKeeper keeper) {
    auto server = ingest::Server::start(options, std::move(keeper));
    EXPECT_TRUE(server.ok()) << server.status();
    return *std::move(server);
  }
  // Waits until the condition is true; ctest ends a test that waits for ever.
  template <typename Condition>
  void wait_until(relay::Relay& relay, Condition condition) {
    while (!condition()) (void)relay.wait_until_quiet(1ms);
  }
  bool leaves_segments() { return !std::filesystem::is_empty(run_.path()); }

  TemporaryDirectory run_;
  std::shared_ptr<ingest::RecordingSink> sink_ = std::make_shared<ingest::RecordingSink>();
};

TEST_F(WireTest, APeerThatNeverSaysHelloIsLetGo) {
  auto server = collector({.address = "127.0.0.1:0", .hello_deadline = 50ms}, keeper_of(sink_));
  auto stub = v1::Collector::NewStub(channel_to(server->address()));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + 30s);
  auto stream = stub->Stream(&context);
  v1::CollectorMessage answer;
  EXPECT_FALSE(stream->Read(&answer));
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(WireTest, AJobInAnotherProcessArrivesWholeAndItsSegmentIsRemoved) {
  std::vector<ingest::RunClosing> closings;
  const pid_t child = fork();
  if (child == 0) {
    WireJob job(run_.path());
    WireJob::Thread thread(job);
    for (int i = 0; i < 1000; ++i) thread.cast();
    job.segment().mark_end(lanes::EndMark::kExited, 3 + 1);
    _exit(3);
  }
  waitpid(child, nullptr, 0);
  auto server = collector({}, keeper_of(sink_, &closings));
  auto relay = relay_to(server->in_process_channel());
  EXPECT_TRUE(relay->wait_until_quiet(10s));
  const relay::Summary summary = relay->stop({.exit_status = 3, .signal = 0, .notices = {"note"}}, 10s);
  EXPECT_TRUE(summary.delivered) << summary.problem;
  ASSERT_THAT(summary.processes, SizeIs(1));
  EXPECT_EQ(summary.processes[0].acknowledged, 1000u);
  EXPECT_EQ(summary.processes[0].end, relay::ProcessEnd::kExited);

  const ingest::RecordingSink::Process& process = sink_->only();
  EXPECT_EQ(process.info.pid, child);
  EXPECT_EQ(process.stacks.at(1).frames.at(0).file, "train.py");
  EXPECT_EQ(process.lanes.at(1).events.size(), 1000u);
  EXPECT_EQ(process.counters.at({1, WireJob::kSite}).casts, 1000u);
  EXPECT_EQ(process.end, store::ProcessEnd::kExited);
  EXPECT_EQ(process.exit_status, 3);
  ASSERT_THAT(closings, SizeIs(1));
  EXPECT_TRUE(closings[0].farewell);
  EXPECT_EQ(closings[0].exit_status, 3);
  EXPECT_THAT(sink_->notices, testing::ElementsAre("note"));
  EXPECT_FALSE(leaves_segments());
}

TEST_F(WireTest, AKilledJobLeavesAllThatItPublished) {
  auto server = collector({.address = "127.0.0.1:0"}, keeper_of(sink_));
  auto relay = relay_to(channel_to(server->address()));
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    WireJob job(run_.path());
    WireJob::Thread thread(job);
    for (int i = 0; i < 5000; ++i) thread.cast();
    (void)!write(ends[1], "x", 1);
    for (;;) pause();
  }
  char byte = 0;
  ASSERT_EQ(read(ends[0], &byte, 1), 1);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(relay->stop({}, 10s).delivered);
  EXPECT_EQ(sink_->only().counters.at({1, WireJob::kSite}).casts, 5000u);
  EXPECT_EQ(sink_->only().lanes.at(1).events.size(), 5000u);
  EXPECT_EQ(sink_->only().end, store::ProcessEnd::kVanished);
}

TEST_F(WireTest, NothingIsLostOrDoubledWhenTheCollectorDiesAgainAndAgain) {
  constexpr std::uint64_t kCasts = 400'000;
  CollectorProcess collector(run_.path() + "/journal");
  auto relay = relay_to(channel_to(collector.address()));
  WireJob job(run_.path());
  // One thread waits for room in its ring; the other does not, and drops while the collector is away.
  WireJob::Thread patient(job), hasty(job);
  std::thread writing([&] {
    for (std::uint64_t i = 0; i < kCasts; ++i) {
      while (!patient.has_room()) std::this_thread::yield();
      patient.cast();
      hasty.cast();
    }
  });
  for (std::uint64_t death = 1; death <= 5; ++death) {
    wait_until(*relay, [&] {
      JournalSink::State state = collector.state();
      return state.lives == death && state.lanes[1].received > death * kCasts / 8;
    });
    collector.kill_it();
    collector.start();
  }
  writing.join();
  const relay::Summary summary = relay->stop({}, 60s);
  EXPECT_TRUE(summary.delivered) << summary.problem;
  const JournalSink::State state = collector.state();
  EXPECT_EQ(state.lives, 6u);
  EXPECT_EQ(state.sites, 1u);
  const JournalSink::LaneTotal &first = state.lanes.at(1), &second = state.lanes.at(2);
  EXPECT_EQ(first.received, kCasts);
  EXPECT_EQ(first.out_of_order + second.out_of_order, 0u);
  EXPECT_EQ(second.received, hasty.lane().head.load());
  EXPECT_EQ(second.received + hasty.lane().dropped.load(), kCasts);
  EXPECT_EQ(state.casts.at(1), kCasts);
  EXPECT_EQ(state.casts.at(2), kCasts);
}

TEST_F(WireTest, AnotherRelayGoesOnWhereOneDied) {
  CollectorProcess collector(run_.path() + "/journal");
  WireJob job(run_.path());
  WireJob::Thread thread(job);
  for (int i = 0; i < 1000; ++i) thread.cast();
  auto first = relay_to(channel_to(collector.address()));
  wait_until(*first, [&] { return collector.state().lanes[1].received > 0; });
  for (int i = 0; i < 1000; ++i) thread.cast();
  first.reset();  // no farewell; everything in progress is lost with it
  for (int i = 0; i < 1000; ++i) thread.cast();
  auto second = relay_to(channel_to(collector.address()));
  EXPECT_TRUE(second->stop({}, 10s).delivered);
  EXPECT_EQ(collector.state().lanes[1].received, 3000u);
  EXPECT_EQ(collector.state().lanes[1].out_of_order, 0u);
  EXPECT_EQ(collector.state().casts[1], 3000u);
}

TEST_F(WireTest, WithoutACollectorMemoryIsBoundedAndCountsStayExact) {
  ingest::Options here{.address = "unix:" + run_.path() + "/socket"};
  relay::Options small = options(channel_to(here.address));
  small.max_unacknowledged_bytes = 100'000;
  relay::Relay relay(small);
  ASSERT_TRUE(relay.start().ok());
  WireJob job(run_.path());
  WireJob::Thread thread(job);
  std::uint64_t casts = 0;
  // The ring fills, then drops, because the relay stops taking.
  while (thread.lane().dropped.load() == 0 || relay.progress().unacknowledged_bytes < 100'000) {
    for (int i = 0; i < 1000; ++i) thread.cast();
    casts += 1000;
  }
  EXPECT_LT(relay.progress().unacknowledged_bytes, 300'000u);
  wait_until(relay, [&] { return !relay.trouble().empty(); });
  EXPECT_THAT(relay.trouble(), HasSubstr("no connection to the collector"));
  auto server = collector(here, keeper_of(sink_));
  EXPECT_TRUE(relay.stop({}, 20s).delivered);
  const ingest::RecordingSink::Process& process = sink_->only();
  EXPECT_EQ(process.counters.at({1, WireJob::kSite}).casts, casts);
  EXPECT_EQ(process.lanes.at(1).events.size() + process.lanes.at(1).row.dropped, casts);
  EXPECT_EQ(process.end, store::ProcessEnd::kNotSeen);
}

TEST_F(WireTest, SaysWhenTheCollectorIsNeverThere) {
  auto relay = relay_to(channel_to("unix:" + run_.path() + "/nobody"));
  WireJob job(run_.path());
  const relay::Summary summary = relay->stop({}, 300ms);
  EXPECT_FALSE(summary.delivered);
  EXPECT_THAT(summary.problem, HasSubstr("no connection to the collector"));
  EXPECT_TRUE(leaves_segments());
}

TEST_F(WireTest, AWrongTokenIsRefusedWithASentence) {
  auto server = collector({.address = "127.0.0.1:0", .door = one_token()}, keeper_of(sink_));
  for (const std::string token : {"", "wrong"}) {
    relay::Relay relay(options(channel_to(server->address()), token));
    ASSERT_TRUE(relay.start().ok());
    wait_until(relay, [&] { return relay.trouble().find("CASTSCOPE_TOKEN") != std::string::npos; });
    EXPECT_THAT(relay.stop({}, 10s).problem, HasSubstr("CASTSCOPE_TOKEN"));
  }
  relay::Relay relay(options(channel_to(server->address()), "secret"));
  ASSERT_TRUE(relay.start().ok());
  EXPECT_TRUE(relay.stop({}, 10s).delivered);
}

TEST_F(WireTest, OverTlsOnlyWhoTrustsTheCertificateGetsThrough) {
  TemporaryDirectory secrets;
  const std::string certificate = secrets.path() + "/certificate.pem", key = secrets.path() + "/key.pem";
  ASSERT_TRUE(write_certificate(certificate, key));
  auto server =
      collector({.address = "0.0.0.0:0", .door = one_token(), .certificate_file = certificate, .key_file = key},
                keeper_of(sink_));
  const std::string address = "127.0.0.1" + server->address().substr(server->address().rfind(':'));
  auto plain = relay_to(channel_to(address));
  EXPECT_FALSE(plain->stop({}, 300ms).delivered);
  auto channel = relay::connect(address, {.use = true, .root_certificate_file = certificate});
  ASSERT_TRUE(channel.ok()) << channel.status();
  relay::Relay relay(options(*channel, "secret"));
  ASSERT_TRUE(relay.start().ok());
  WireJob job(run_.path());
  WireJob::Thread(job).cast();
  EXPECT_TRUE(relay.stop({}, 10s).delivered) << relay.trouble();
  EXPECT_EQ(sink_->only().counters.at({1, WireJob::kSite}).casts, 1u);
}

TEST_F(WireTest, SaysWhichCertificateOrAddressIsNoGood) {
  for (const std::string path : {"/none", "/"}) {  // a folder can be opened, but not read
    EXPECT_THAT(
        std::string(relay::connect("127.0.0.1:1", {.use = true, .root_certificate_file = path}).status().message()),
        HasSubstr("cannot read the certificate " + path));
    const ingest::Options options{.address = "127.0.0.1:0", .certificate_file = path, .key_file = path};
    EXPECT_THAT(std::string(ingest::Server::start(options, keeper_of(sink_)).status().message()),
                HasSubstr("cannot read the certificate " + path));
  }
  for (const char* address : {"nowhere", "host:http", "host:0", "http://host:1", ":1"})
    EXPECT_THAT(std::string(relay::connect(address).status().message()), HasSubstr("give HOST:PORT")) << address;
}

TEST_F(WireTest, AFullDiskIsToldAndTheSegmentStays) {
  sink_->next_commit = absl::ResourceExhaustedError("the disk is full");
  auto server = collector({}, keeper_of(sink_));
  relay::Options few = options(server->in_process_channel());
  few.patience_in_trouble = 50ms;
  relay::Relay relay(few);
  ASSERT_TRUE(relay.start().ok());
  WireJob job(run_.path());
  wait_until(relay, [&] { return !relay.trouble().empty(); });
  const relay::Summary summary = relay.stop({}, 10s);
  EXPECT_FALSE(summary.delivered);
  EXPECT_EQ(summary.problem, "the collector cannot keep the run now: the disk is full");
  EXPECT_TRUE(leaves_segments());
}

TEST_F(WireTest, AForeignFileInTheRunDirectoryIsNamedAndHarmsNobody) {
  std::ofstream(run_.path() + "/1-0.lanes") << std::string(8192, 'x');
  auto server = collector({}, keeper_of(sink_));
  auto relay = relay_to(server->in_process_channel());
  WireJob job(run_.path());
  WireJob::Thread(job).cast();
  const relay::Summary summary = relay->stop({}, 10s);
  EXPECT_TRUE(summary.delivered);
  ASSERT_THAT(summary.processes, SizeIs(2));
  EXPECT_THAT(summary.processes[1].problem, HasSubstr("not a segment of castscope"));
  EXPECT_EQ(sink_->only().counters.at({1, WireJob::kSite}).casts, 1u);
}

TEST_F(WireTest, AProcessThatTalksNonsenseHarmsNobodyElse) {
  auto server = collector({}, keeper_of(sink_));
  auto relay = relay_to(server->in_process_channel());
  WireJob bad(run_.path()), good(run_.path());
  lanes::LaneWriter::add(bad.segment().acquire_lane(1)->dropped, 1ull << 63);
  WireJob::Thread(good).cast();
  const relay::Summary summary = relay->stop({}, 10s);
  EXPECT_TRUE(summary.delivered);
  ASSERT_THAT(summary.processes, SizeIs(2));
  int problems = 0;
  for (const relay::ProcessSummary& process : summary.processes) problems += process.problem.empty() ? 0 : 1;
  EXPECT_EQ(problems, 1);
  ASSERT_THAT(sink_->missing, SizeIs(1)) << "the file says it, too";
  EXPECT_THAT(sink_->missing[0].sentence, HasSubstr("beyond 2^63 - 1"));
  std::uint64_t casts = 0;
  for (const auto& [key, process] : sink_->processes)
    for (const auto& [id, row] : process.counters) casts += row.casts;
  EXPECT_EQ(casts, 1u);
}

// Only the relay sees an event that cannot be: it tells so with its goodbye.
TEST_F(WireTest, AnEventThatCannotBeIsMissingAndTold) {
  auto server = collector({}, keeper_of(sink_));
  WireJob job(run_.path());
  WireJob::Thread(job).cast();
  lanes::Lane& lane = *job.segment().at<lanes::Lane>(job.segment().header().first_lane);
  job.segment().at<lanes::Event>(lane.ring)->kind = static_cast<lanes::EventKind>(200);
  auto relay = relay_to(server->in_process_channel());
  EXPECT_TRUE(relay->stop({}, 10s).delivered);
  EXPECT_EQ(sink_->only().counters.at({1, WireJob::kSite}).casts, 1u);
  EXPECT_EQ(sink_->only().lanes.at(1).row.received, 0u);
  ASSERT_THAT(sink_->missing, SizeIs(1));
  EXPECT_EQ(sink_->missing[0].reason, store::IncompleteReason::kProcessUnrecorded);
  EXPECT_THAT(sink_->missing[0].sentence, HasSubstr("1 event in it cannot be, and is missing"));
}

TEST_F(WireTest, TwoCollectorsCannotShareAPort) {
  auto first = collector({.address = "127.0.0.1:0"}, keeper_of(sink_));
  auto second = ingest::Server::start({.address = first->address()}, keeper_of(sink_));
  EXPECT_THAT(std::string(second.status().message()), HasSubstr("cannot listen on 127.0.0.1:"));
}

}  // namespace
}  // namespace castscope

int main(int argc, char** argv) {
  if (argc == 5 && std::strcmp(argv[1], "--collector") == 0) return castscope::run_collector(argv + 2);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
