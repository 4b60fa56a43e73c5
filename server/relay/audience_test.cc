#include "server/relay/audience.h"

#include <gtest/gtest.h>

namespace castscope::relay {
namespace {

using namespace std::chrono_literals;

class AudienceTest : public testing::Test {
 protected:
  bool after(Audience::Clock::duration time) { return audience_.is_there(begin_ + time); }
  void hear(bool watched, Audience::Clock::duration when) { audience_.hear(watched, begin_ + when); }

  const Audience::Clock::time_point begin_{};
  Audience audience_;
};

TEST_F(AudienceTest, NobodyIsThereBeforeAnAnswerSaysSo) {
  EXPECT_FALSE(after(0s));
  hear(false, 1s);
  EXPECT_FALSE(after(1s));
}

TEST_F(AudienceTest, StaysForFiveSecondsAfterTheLastAnswerThatSaidSo) {
  hear(true, 10s);
  EXPECT_TRUE(after(10s));
  hear(false, 12s);
  EXPECT_TRUE(after(14'999ms));
  EXPECT_FALSE(after(15s));
}

TEST_F(AudienceTest, EachAnswerThatSaysSoCountsAnew) {
  hear(true, 10s);
  hear(true, 14s);
  EXPECT_TRUE(after(18s));
  EXPECT_FALSE(after(19s));
  hear(true, 30s);
  EXPECT_TRUE(after(30s));
}

}  // namespace
}  // namespace castscope::relay
