// Tests collector and relay together: what the collector does not take, or not in time, waits on disk.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "server/ingest/server.h"
#include "server/ingest/testing/recording_sink.h"
#include "server/relay/relay.h"
#include "server/relay/sending/bring_home.h"
#include "tests/integration/wire_job.h"

namespace castscope {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::SizeIs;

class WaitingTest : public testing::Test {
 protected:
  WaitingTest() {
    auto server = ingest::Server::start(
        {}, {.open = [this](const ingest::RunOpening&) -> absl::StatusOr<std::shared_ptr<store::RunSink>> {
               if (!takes_) return absl::ResourceExhaustedError("the disk is full");
               return sink_;
             },
             .close = {}});
    EXPECT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }
  std::unique_ptr<relay::Relay> relay(std::uint64_t most_bytes_in_memory) {
    relay::Options options{.run_directory = run_.path(),
                           .run = {.id = "run", .host = "host"},
                           .channel = server_->in_process_channel(),
                           .max_unacknowledged_bytes = most_bytes_in_memory,
                           .flush_interval = 20ms,
                           .event_interval = 20ms};
    options.make_spool = [this](const v1::Hello& hello) {
      return relay::Spool::create(file_, {.address = "collector"}, hello, 64u << 20);
    };
    options.spool_interval = 20ms;
    options.say = [this](const std::string& sentence) {
      const std::lock_guard lock(mutex_);
      said_ += sentence + "\n";
    };
    auto relay = std::make_unique<relay::Relay>(std::move(options));
    EXPECT_TRUE(relay->start().ok());
    return relay;
  }
  std::string said() {
    const std::lock_guard lock(mutex_);
    return said_;
  }

  // Its bytes. A file in which nothing found room does not stay, and the relay looks at it, too.
  std::uintmax_t spooled() const {
    std::error_code error;
    const std::uintmax_t bytes = std::filesystem::file_size(file_, error);
    return error ? 0 : bytes;
  }

  TemporaryDirectory run_;
  const std::string file_ = run_.path() + ".spool";
  std::atomic<bool> takes_ = true;
  std::shared_ptr<ingest::RecordingSink> sink_ = std::make_shared<ingest::RecordingSink>();
  std::unique_ptr<ingest::Server> server_;
  std::mutex mutex_;
  std::string said_;
};

// As on a full disk, files of this process do not grow beyond this size.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{.rlim_cur = bytes, .rlim_max = before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FullDisk() { setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

// A collector that takes nothing for a while costs no events: they wait on disk.
TEST_F(WaitingTest, WhatDoesNotFitIntoMemoryWaitsOnDisk) {
  constexpr int kCasts = 200'000;
  takes_ = false;
  const auto relay = this->relay(4096);
  WireJob job(run_.path(), 1024);
  WireJob::Thread thread(job);
  for (int i = 0; i < kCasts; ++i) {
    while (!thread.has_room()) std::this_thread::yield();
    thread.cast();
  }
  EXPECT_TRUE(std::filesystem::exists(file_));
  takes_ = true;
  EXPECT_TRUE(relay->stop({}, 60s).delivered);
  EXPECT_THAT(sink_->only().lanes[1].events, SizeIs(kCasts));
  EXPECT_FALSE(std::filesystem::exists(file_));
}

TEST_F(WaitingTest, AFileThatStaysThoughAllWasTakenIsSaid) {
  takes_ = false;
  const auto relay = this->relay(4096);
  WireJob job(run_.path(), 1024);
  WireJob::Thread thread(job);
  while (!std::filesystem::exists(file_)) thread.has_room() ? thread.cast() : std::this_thread::yield();
  std::filesystem::rename(file_, file_ + "-elsewhere");
  std::filesystem::create_directory(file_);
  takes_ = true;
  EXPECT_TRUE(relay->stop({}, 60s).delivered);
  EXPECT_THAT(said(), HasSubstr(file_ + " cannot be deleted: "));
  EXPECT_THAT(said(), HasSubstr("the collector has what was in it"));
  std::filesystem::remove(file_);
  std::filesystem::remove(file_ + "-elsewhere");
}

// What finds no room on disk stays in the rings, where a job drops events when they are full. This one waits instead.
TEST_F(WaitingTest, ADiskThatHasRoomAgainIsUsedAgain) {
  constexpr rlim_t kFull = 32u << 10;
  signal(SIGXFSZ, SIG_IGN);
  takes_ = false;
  WireJob job(run_.path(), 1024);
  WireJob::Thread thread(job);
  auto disk = std::make_unique<FullDisk>(kFull);
  const auto relay = this->relay(4096);
  std::size_t casts = 0;
  const auto cast = [&] {
    if (thread.has_room())
      thread.cast(), ++casts;
    else
      std::this_thread::yield();
  };
  while (said().find("finds no room on disk") == std::string::npos) cast();
  EXPECT_LE(spooled(), kFull);
  disk.reset();
  while (spooled() <= kFull) cast();
  takes_ = true;
  EXPECT_TRUE(relay->stop({}, 60s).delivered);
  EXPECT_THAT(sink_->only().lanes[1].events, SizeIs(casts));
  EXPECT_EQ(std::ranges::count(said(), '\n'), 2) << said();
}

// The collector's time begins when all is read: on a machine with far too much to do, reading takes long.
TEST_F(WaitingTest, WhatIsReadLateWaitsOnDisk) {
  WireJob job(run_.path(), 1u << 14);
  WireJob::Thread thread(job);
  std::size_t casts = 0;
  for (; thread.has_room(); ++casts) thread.cast();
  auto relay = this->relay(32u << 20);
  const relay::Summary summary = relay->stop({}, 0s);
  relay.reset();  // which has the file still
  EXPECT_FALSE(summary.delivered);
  EXPECT_EQ(summary.spool, file_);
  ASSERT_TRUE(relay::bring_home(file_, {.channel = server_->in_process_channel()}).ok());
  EXPECT_THAT(sink_->only().lanes[1].events, SizeIs(casts));
}

}  // namespace
}  // namespace castscope
