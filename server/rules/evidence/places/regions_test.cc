#include "server/rules/evidence/places/regions.h"

#include <gtest/gtest.h>

namespace castscope::rules {
namespace {

constexpr std::uint8_t kCpu = 0, kCuda = 1;  // c10::DeviceType
constexpr store::RegionId kNone, kFirst(1), kSecond(2), kThird(3);

// A region with cuda on, in it one with cpu on, in it one with cuda off.
store::RunData nested() {
  store::RunData data;
  data.regions = {{.id = kFirst, .parent = kNone, .device = kCuda, .enabled = true},
                  {.id = kSecond, .parent = kFirst, .device = kCpu, .enabled = true},
                  {.id = kThird, .parent = kSecond, .device = kCuda, .enabled = false}};
  return data;
}

TEST(RegionsTest, TheInnermostOfItsDeviceCounts) {
  const store::RunData data = nested();
  EXPECT_EQ(region_of_device(data, kThird, kCuda), &data.regions[kThird]);
  EXPECT_EQ(enabled_region(data, kThird, kCuda), nullptr);
  EXPECT_EQ(enabled_region(data, kThird, kCpu), &data.regions[kSecond]);
  EXPECT_EQ(enabled_region(data, kSecond, kCuda), &data.regions[kFirst]);
  EXPECT_EQ(region_of_device(data, kNone, kCpu), nullptr);
}

TEST(RegionsTest, WithinIsAlsoTheRegionItself) {
  const store::RunData data = nested();
  EXPECT_TRUE(is_within(data, kThird, kFirst));
  EXPECT_TRUE(is_within(data, kSecond, kSecond));
  EXPECT_FALSE(is_within(data, kFirst, kSecond));
}

// A region of Python's that is on, in it a script's that is on, in it a script's that is off.
store::RunData around_a_script(bool eager_on) {
  store::RunData data;
  data.regions = {
      {.id = kFirst, .parent = kNone, .device = kCpu, .enabled = eager_on, .kind = lanes::RegionKind::kContext},
      {.id = kSecond, .parent = kFirst, .device = kCpu, .enabled = true, .kind = lanes::RegionKind::kScript},
      {.id = kThird, .parent = kSecond, .device = kCpu, .enabled = false, .kind = lanes::RegionKind::kScript},
  };
  return data;
}

TEST(RegionsTest, EagerAutocastKnowsNoRegionOfAScript) {
  const store::RunData on = around_a_script(true), off = around_a_script(false);
  EXPECT_EQ(eager_region(on, kThird, kCpu), &on.regions[kFirst]);
  EXPECT_EQ(eager_region(on, kThird, kCuda), nullptr);
  EXPECT_EQ(eager_region(off, kSecond, kCpu), nullptr);
}

}  // namespace
}  // namespace castscope::rules
