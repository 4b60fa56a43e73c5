#include "server/cli/serving/quota_keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace castscope::cli {
namespace {

using namespace std::chrono_literals;
using How = ingest::EventsWanted::How;
using testing::HasSubstr;

class QuotaKeeperTest : public testing::Test {
 protected:
  void opened(const std::string& id, const std::string& sender = "team", std::optional<admission::Quotas> own = {}) {
    ingest::RunOpening run;
    run.id = id, run.sender = sender, run.quotas = own;
    keeper_.opened(run);
  }
  How wanted(const std::string& id) {
    const ingest::EventsWanted answer = keeper_.wanted(id, now_);
    why_ = answer.why;
    EXPECT_EQ(why_.empty(), answer.how == How::kAll);
    return answer.how;
  }
  std::chrono::milliseconds taken(const std::string& id, std::uint64_t events) {
    return keeper_.taken(id, {.bytes = 1, .events = events, .events_dropped = 0}, now_);
  }

  std::uint64_t bytes_ = 0;
  std::string why_;
  QuotaKeeper::Clock::time_point now_{1h};
  QuotaKeeper keeper_{{.events_per_second = 100, .bytes_per_run = 1'000'000, .open_runs = 2},
                      [this](const std::string&) { return bytes_; }};
};

TEST_F(QuotaKeeperTest, ASenderMaySendSoManyEventsASecond) {
  opened("a");
  opened("b");
  EXPECT_EQ(wanted("a"), How::kAll);
  EXPECT_EQ(taken("a", 900), 0ms) << "an unused quota is kept for ten seconds";
  EXPECT_EQ(wanted("b"), How::kAll);
  EXPECT_EQ(taken("b", 150), 500ms);
  EXPECT_EQ(wanted("a"), How::kHold) << "all runs of a sender share its quota";
  EXPECT_THAT(why_, HasSubstr("100 single events a second of the sender \"team\""));
  now_ += 400ms;
  EXPECT_EQ(wanted("a"), How::kHold);
  now_ += 200ms;
  EXPECT_EQ(wanted("a"), How::kAll);
  opened("c", "others");
  EXPECT_EQ(taken("c", 900), 0ms) << "each sender has its own";
  EXPECT_EQ(taken("c", 1'000'000), 2000ms) << "a pause is never long: relays wait for answers";
}

TEST_F(QuotaKeeperTest, AFileStaysWithinItsBound) {
  opened("a");
  bytes_ = 899'999;
  EXPECT_EQ(wanted("a"), How::kAll);
  bytes_ = 900'000;
  EXPECT_EQ(wanted("a"), How::kAll) << "the file is looked at once a second";
  now_ += 1s;
  EXPECT_EQ(wanted("a"), How::kHold);
  bytes_ = 1'000'000;
  now_ += 1s;
  EXPECT_EQ(wanted("a"), How::kNone);
  EXPECT_THAT(why_, HasSubstr("keeps 1 MB of a run"));
  EXPECT_EQ(keeper_.wanted("a", now_).most_definition_bytes, 1'000'000u);
}

TEST_F(QuotaKeeperTest, SoManyRunsSendEventsAtOnce) {
  for (const char* id : {"a", "b", "c"}) opened(id);
  EXPECT_EQ(wanted("a"), How::kAll);
  EXPECT_EQ(wanted("b"), How::kAll);
  EXPECT_EQ(wanted("c"), How::kHold);
  EXPECT_THAT(why_, HasSubstr("sent counts alone"));
  EXPECT_EQ(wanted("a"), How::kAll);
  keeper_.closed("b");
  EXPECT_EQ(wanted("c"), How::kAll);
}

TEST_F(QuotaKeeperTest, ATokenMayHaveQuotasOfItsOwn) {
  opened("a", "team", admission::Quotas());
  for (int i = 0; i < 10; ++i) EXPECT_EQ(taken("a", 1'000'000), 0ms);
  EXPECT_EQ(wanted("a"), How::kAll);
  EXPECT_EQ(wanted("unknown"), How::kAll);
}

}  // namespace
}  // namespace castscope::cli
