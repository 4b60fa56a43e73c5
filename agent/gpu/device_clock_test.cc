#include "agent/gpu/device_clock.h"

#include <gtest/gtest.h>

namespace castscope::gpu {
namespace {

// The records' clock in ns, the segment's at 2.5 ticks a ns.
TEST(DeviceClockTest, ATimeLiesOnTheLineThroughTwoReadings) {
  DeviceClock clock;
  clock.begin({1'000'000, 5'000, 0});
  clock.follow({2'000'000, 2'505'000, 1'000'000});
  EXPECT_EQ(clock.to_segment(1'000'000), 5'000u);
  EXPECT_EQ(clock.to_segment(1'500'000), 1'255'000u);
  EXPECT_EQ(clock.to_segment(3'000'000), 5'005'000u) << "beyond the second";
  EXPECT_EQ(clock.to_segment(999'000), 2'500u) << "before the first";
  EXPECT_EQ(clock.ticks(1'000), 2'500u);
}

TEST(DeviceClockTest, NsAreTakenAsTheRecordHasThem) {
  DeviceClock clock;
  clock.begin({1'000'000, 0, 0});
  clock.follow({2'000'000, 2'500'000, 1'000'900});  // read a little apart
  EXPECT_EQ(clock.ns(123'457), 123'457u);
}

TEST(DeviceClockTest, TheProcessorsCounterIsBroughtToNs) {
  DeviceClock clock;
  clock.begin({0, 0, 0});
  clock.follow({2'500'000'000, 2'500'000'000, 1'000'000'000});
  EXPECT_EQ(clock.ns(2'500), 1'000u);
  EXPECT_EQ(clock.ticks(2'500), 2'500u);
}

TEST(DeviceClockTest, TwoReadingsThatAreTooNearSayNothing) {
  DeviceClock clock;
  clock.begin({1'000'000, 5'000, 0});
  clock.follow({1'000'100, 9'000'000, 50});
  EXPECT_FALSE(clock.is_known());
  EXPECT_EQ(clock.to_segment(1'000'100), 5'100u);
  EXPECT_EQ(clock.ns(70), 70u);
}

}  // namespace
}  // namespace castscope::gpu
