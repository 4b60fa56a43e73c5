#include "server/ingest/listening/call_deadlines.h"

#include <gtest/gtest.h>

#include <deque>

namespace castscope::ingest {
namespace {

class CallDeadlinesTest : public testing::Test {
 protected:
  bool may_wait(const std::string& sender) { return waiting_.emplace_back(all_, nullptr, sender).may_wait(); }
  // How many calls of this sender may wait.
  std::size_t all_of(const std::string& sender) {
    std::size_t many = 0;
    while (may_wait(sender)) ++many;
    waiting_.pop_back();
    return many;
  }

  CallDeadlines all_{std::chrono::hours(1)};
  std::deque<CallDeadlines::Waiting> waiting_;
};

TEST_F(CallDeadlinesTest, ASenderGetsThreeQuartersOfThePlacesAndLeavesTheOthers) {
  EXPECT_EQ(all_of("one"), CallDeadlines::kMost / 4 * 3);
  EXPECT_EQ(all_of("other"), CallDeadlines::kMost / 4);
  waiting_.pop_front();
  EXPECT_TRUE(may_wait("one"));
}

TEST_F(CallDeadlinesTest, WithoutTokensTheOneSenderHasAllPlaces) { EXPECT_EQ(all_of(""), CallDeadlines::kMost); }

}  // namespace
}  // namespace castscope::ingest
