// Everything that runs at once in a collector with a viewer, but for gRPC, which ThreadSanitizer does not see into:
// threads that cast, a relay's two threads for each of two jobs, one run that takes both of their streams, and people
// who look at it meanwhile.
#include <gtest/gtest.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "server/ingest/run/run_table.h"
#include "server/judging/run_judge.h"
#include "server/relay/drainer.h"
#include "server/relay/sending/outbox.h"
#include "server/store/read/run_reader.h"
#include "server/web/api/routes.h"
#include "server/web/runs/live_run.h"
#include "tests/integration/wire_job.h"

namespace castscope {
namespace {

constexpr std::uint64_t kCasts = 3000;  // of each thread
constexpr int kThreads = 2;             // of each job
constexpr std::size_t kOutboxBytes = 32 << 20;

// A run of a collector, and the viewer that shows it.
class ViewedRun {
 public:
  explicit ViewedRun(const std::string& path) {
    auto store =
        store::RunStore::create(path, {.run_id = "run", .command = {}, .cwd = {}, .host = {}, .castscope_version = {}});
    EXPECT_TRUE(store.ok()) << store.status();
    store_ = *std::move(store);
    live_ = web::LiveRun::begin("run", std::make_shared<judging::RunJudge>(store_, rules::Settings()), {}, false,
                                {.least_pause = std::chrono::milliseconds(1), .share = 1});
    viewed_.put(live_);
  }
  ingest::Run& run() { return *table_.find_or_add({.id = "run"}); }
  ingest::RunTable& table() { return table_; }
  web::Response ask(const std::string& rest, const std::string& query = "") {
    return web::answer_api(viewed_,
                           {.method = "GET", .path = "/api/v2/runs/run" + rest, .query = query, .host = "localhost"});
  }

 private:
  std::shared_ptr<store::RunStore> store_;
  std::shared_ptr<web::LiveRun> live_;
  web::Runs viewed_;
  ingest::RunTable table_{{.open = [this](const ingest::RunOpening&) { return live_; },
                           .close =
                               [this](const std::string&, const ingest::RunClosing&) {
                                 EXPECT_TRUE(store_->close().ok());
                                 live_->concluded(web::RunState::kFinished, nullptr);
                               }}};
};

// A job of several threads, and the relay that brings its casts to the run.
class RelayedJob {
 public:
  RelayedJob(ViewedRun& viewed, const std::string& name)
      : viewed_(viewed), name_(name), job_(directory_.path(), 1024) {}
  void start() {
    for (int i = 0; i < kThreads; ++i) threads_.emplace_back([this] { cast(); });
    threads_.emplace_back([this] { drain(); });
    threads_.emplace_back([this] { send(); });
  }
  void join() {
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  void cast() {
    WireJob::Thread thread(job_);
    for (std::uint64_t i = 0; i < kCasts; ++i) {
      while (!thread.has_room()) std::this_thread::yield();
      thread.cast();
    }
    ++ended_;
  }
  void drain() {
    relay::Options options;
    options.run_directory = directory_.path();
    options.remove_finished_segments = false;
    relay::Drainer drainer(options, name_, name_, &outbox_);
    for (bool last = false; !last;) {
      last = ended_ == kThreads;
      const auto now = relay::Drainer::Clock::now();
      drainer.find_segments(now);
      drainer.drain(now);
      drainer.flush(true, now);
      drainer.handle_answers();
    }
    drainer.tell_remaining_ends(true);
    EXPECT_TRUE(outbox_.wait_until_empty(relay::Outbox::Clock::time_point::max()));
    outbox_.interrupt();
  }
  void send() {
    ingest::Run& run = viewed_.run();
    ingest::Run::Reply reply;
    ingest::Run::Stream stream{.relay = name_};
    EXPECT_TRUE(run.attach({.id = "run"}, &stream, 0, &reply).ok());
    while (const relay::Outbox::Message message = outbox_.next()) {
      reply = {};
      if (message->has_batch()) EXPECT_TRUE(run.apply(stream, message->batch(), &reply).ok());
      if (message->has_ask()) EXPECT_TRUE(run.ask(stream, &reply).ok());
      EXPECT_EQ(reply.out_of_order, "");
      v1::Ack ack;
      ack.set_sequence(reply.durable);
      if (reply.send) EXPECT_TRUE(outbox_.acknowledge(ack));
    }
    run.detach(stream, ingest::Run::Clock::now());
  }

  ViewedRun& viewed_;
  const std::string name_;
  TemporaryDirectory directory_;
  WireJob job_;
  relay::Outbox outbox_{kOutboxBytes};
  std::atomic<int> ended_ = 0;
  std::vector<std::thread> threads_;
};

// Somebody who asks for one page after the other.
void look_at(ViewedRun& viewed, const std::atomic<bool>& over) {
  const std::string window = "window_begin_ns=0&window_end_ns=100000000000";
  while (!over) {
    for (const char* const page : {"", "/sites", "/findings", "/steps", "/definitions", "/fields"})
      EXPECT_EQ(viewed.ask(page).status, 200) << page;
    EXPECT_EQ(viewed.ask("/picture", window + "&columns=50").status, 200);
    EXPECT_EQ(viewed.ask("/summary", window).status, 200);
    EXPECT_EQ(viewed.ask("/find", "find=train.py").status, 200);
  }
}

TEST(StreamsTest, TwoJobsStreamIntoARunThatPeopleLookAt) {
  const TemporaryDirectory folder;
  const std::string path = folder.path() + "/run.castscope";
  ViewedRun viewed(path);
  RelayedJob first(viewed, "first"), second(viewed, "second");
  std::atomic<bool> over = false;
  std::vector<std::thread> people;
  for (int i = 0; i < 2; ++i) people.emplace_back([&] { look_at(viewed, over); });
  first.start();
  second.start();
  first.join();
  second.join();
  viewed.table().shutdown();
  over = true;
  for (std::thread& person : people) person.join();

  const auto told = nlohmann::json::parse(viewed.ask("").body);
  EXPECT_EQ(told["totals"]["casts"], 2 * kThreads * kCasts);
  const auto data = store::read_run(path);
  ASSERT_TRUE(data.ok()) << data.status();
  std::uint64_t casts = 0, received = 0;
  for (const store::SiteUse& use : data->site_uses) casts += use.counts.casts;
  for (const store::Process& process : data->processes)
    for (const store::LaneRow& lane : process.lanes) received += lane.received;
  EXPECT_EQ(casts, 2 * kThreads * kCasts);
  EXPECT_EQ(received, 2 * kThreads * kCasts);
}

}  // namespace
}  // namespace castscope
