#include "server/cli/serving/quota_keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>

namespace castscope::cli {
namespace {

using namespace std::chrono_literals;
using How = ingest::EventsWanted::How;
using testing::HasSubstr;

class QuotaKeeperTest : public testing::Test {
 protected:
  void opened(const std::string& id, const std::string& sender = "team", const std::string& token = "") {
    keeper_.opened({.id = id, .sender = sender, .token = token});
  }
  void let_in(const std::string& id, const std::string& sender, const std::string& token = "") {
    keeper_.let_in({.id = id, .sender = sender, .token = token});
  }
  // The tokens are now these, by digest.
  void change(const std::map<std::string, std::optional<admission::Quotas>>& quotas) {
    admission::Tokens tokens;
    for (const auto& [digest, own] : quotas) tokens.add({.name = "team", .digest = digest, .quotas = own});
    keeper_.change(tokens, now_);
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

// A pause alone would let a sender that takes no notice of it, or has many streams, put the collector to work.
TEST_F(QuotaKeeperTest, OfASenderThatIsFarAheadNoMoreIsTaken) {
  opened("a");
  opened("b");
  taken("a", 4'001'000);
  EXPECT_EQ(wanted("a"), How::kHold);
  const std::string why = why_;
  taken("b", 1'000);
  EXPECT_EQ(wanted("a"), How::kNone);
  EXPECT_EQ(wanted("b"), How::kNone) << "all runs of a sender share its quota";
  EXPECT_EQ(why_, why) << "a run is told once";
  now_ += 20s;
  EXPECT_EQ(wanted("a"), How::kHold);
  change({{"t", admission::Quotas{.events_per_second = 1'000'000}}});
  opened("fast", "fast", "t");
  taken("fast", 600'000'000);
  EXPECT_EQ(wanted("fast"), How::kHold) << "ten minutes of a large quota";
  taken("fast", 11'000'000);
  EXPECT_EQ(wanted("fast"), How::kNone);
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

TEST_F(QuotaKeeperTest, WhichRunsSendEventsIsTheOrderInWhichTheyBegan) {
  for (const char* id : {"a", "b", "c"}) opened(id);
  EXPECT_EQ(wanted("c"), How::kHold) << "although it asks first";
  EXPECT_EQ(wanted("a"), How::kAll);
}

TEST_F(QuotaKeeperTest, ATokenMayHaveQuotasOfItsOwn) {
  change({{"own", admission::Quotas()}});
  opened("a", "team", "own");
  for (int i = 0; i < 10; ++i) EXPECT_EQ(taken("a", 1'000'000), 0ms);
  EXPECT_EQ(wanted("a"), How::kAll);
  EXPECT_EQ(wanted("unknown"), How::kAll);
}

TEST_F(QuotaKeeperTest, NewQuotasHoldForOpenRunsAtOnce) {
  change({{"t", admission::Quotas{.events_per_second = 10'000}}});
  opened("a", "team", "t");
  EXPECT_EQ(taken("a", 50'000), 0ms);
  change({{"t", admission::Quotas{.events_per_second = 1}}});
  EXPECT_EQ(taken("a", 11), 1000ms) << "of 50,000 that were left, ten seconds of the new rate stay";
  EXPECT_EQ(wanted("a"), How::kHold);
  EXPECT_THAT(why_, HasSubstr("takes 1 single events a second"));
  change({{"t", admission::Quotas{.events_per_second = 20}}});
  now_ += 100ms;
  EXPECT_EQ(wanted("a"), How::kAll) << "more holds at once, too";
  change({{"t", std::nullopt}});
  EXPECT_EQ(taken("a", 101), 1000ms) << "the collector's own are what a token without quotas has";
}

TEST_F(QuotaKeeperTest, AQuotaThatIsTakenOutEndsTheHolding) {
  change({{"t", admission::Quotas{.events_per_second = 1, .bytes_per_run = 1000, .open_runs = 1}}});
  opened("a", "team", "t");
  opened("b", "team", "t");
  EXPECT_EQ(wanted("a"), How::kAll);
  EXPECT_EQ(wanted("b"), How::kHold);
  taken("a", 1'000'000);
  bytes_ = 1000;
  now_ += 1s;
  EXPECT_EQ(wanted("a"), How::kNone);
  change({{"t", admission::Quotas()}});
  EXPECT_EQ(wanted("a"), How::kAll);
  EXPECT_EQ(wanted("b"), How::kAll);
  EXPECT_EQ(taken("a", 1'000'000), 0ms);
  EXPECT_EQ(keeper_.wanted("a", now_).most_definition_bytes, 0u);
  change({{"t", admission::Quotas{.events_per_second = 10}}});
  EXPECT_EQ(wanted("a"), How::kAll) << "what was owed is forgotten";
}

TEST_F(QuotaKeeperTest, ADebtOfALargeQuotaIsPaidInAsMuchTimeUnderASmallOne) {
  change({{"t", admission::Quotas{.events_per_second = 1000}}, {"u", admission::Quotas{.events_per_second = 1000}}});
  opened("a", "team", "t");
  opened("b", "team", "u");
  EXPECT_EQ(taken("a", 12'000), 2000ms);
  change({{"t", admission::Quotas{.events_per_second = 1}}, {"u", admission::Quotas{.events_per_second = 1}}});
  now_ += 1900ms;
  EXPECT_EQ(wanted("a"), How::kHold);
  now_ += 200ms;
  EXPECT_EQ(wanted("a"), How::kAll) << "and all runs of a sender have one debt";
}

TEST_F(QuotaKeeperTest, OfFewerPlacesTheLongestKeepTheirs) {
  change({{"t", admission::Quotas{.open_runs = 3}}});
  for (const char* id : {"c", "b", "a"}) {
    opened(id, "team", "t");
    EXPECT_EQ(wanted(id), How::kAll);
  }
  change({{"t", admission::Quotas{.open_runs = 1}}});
  EXPECT_EQ(wanted("a"), How::kHold);
  EXPECT_EQ(wanted("b"), How::kHold);
  EXPECT_EQ(wanted("c"), How::kAll);
  keeper_.closed("c");
  EXPECT_EQ(wanted("a"), How::kHold);
  EXPECT_EQ(wanted("b"), How::kAll);
  change({{"t", admission::Quotas{.open_runs = 2}}});
  EXPECT_EQ(wanted("a"), How::kAll);
}

// As one that an earlier collector left open: its file does not say whose it is.
TEST_F(QuotaKeeperTest, ARunIsOfWhoseTokenItsLatestRelayGave) {
  change({{"t", admission::Quotas{.events_per_second = 1, .open_runs = 1}}});
  opened("a", "");
  EXPECT_EQ(taken("a", 900), 0ms);
  let_in("a", "team", "t");
  EXPECT_EQ(wanted("a"), How::kAll);
  EXPECT_EQ(taken("a", 12), 2000ms);
  EXPECT_EQ(wanted("a"), How::kHold);
  opened("b", "team", "t");
  EXPECT_EQ(wanted("b"), How::kHold) << "a has the place";
  let_in("a", "others");
  EXPECT_EQ(wanted("a"), How::kAll);
  now_ += 3s;
  EXPECT_EQ(wanted("b"), How::kAll) << "its place goes to another run";
  let_in("unknown", "team", "t");
  EXPECT_EQ(wanted("unknown"), How::kAll);
}

// The stream of such a run ends; a relay comes back by another token.
TEST_F(QuotaKeeperTest, ATokenThatIsTakenOutFreesNoRun) {
  change({{"t", admission::Quotas{.events_per_second = 1}}});
  opened("a", "team", "t");
  change({{"u", admission::Quotas()}});
  EXPECT_EQ(taken("a", 11), 1000ms);
  let_in("a", "team", "u");
  EXPECT_EQ(taken("a", 1'000'000), 0ms);
}

}  // namespace
}  // namespace castscope::cli
