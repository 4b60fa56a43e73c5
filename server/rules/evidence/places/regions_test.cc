#include "server/rules/evidence/places/regions.h"

#include <gtest/gtest.h>

namespace castscope::rules {
namespace {

constexpr std::uint8_t kCpu = 0, kCuda = 1;  // c10::DeviceType

// A region with cuda on, in it one with cpu on, in it one with cuda off.
store::RunData nested() {
  store::RunData data;
  data.regions = {{.id = 1, .parent = 0, .device = kCuda, .enabled = true},
                  {.id = 2, .parent = 1, .device = kCpu, .enabled = true},
                  {.id = 3, .parent = 2, .device = kCuda, .enabled = false}};
  return data;
}

TEST(RegionsTest, TheInnermostOfItsDeviceCounts) {
  const store::RunData data = nested();
  EXPECT_EQ(region_of_device(data, 3, kCuda), &data.region(3));
  EXPECT_EQ(enabled_region(data, 3, kCuda), nullptr);
  EXPECT_EQ(enabled_region(data, 3, kCpu), &data.region(2));
  EXPECT_EQ(enabled_region(data, 2, kCuda), &data.region(1));
  EXPECT_EQ(region_of_device(data, 0, kCpu), nullptr);
}

TEST(RegionsTest, WithinIsAlsoTheRegionItself) {
  const store::RunData data = nested();
  EXPECT_TRUE(is_within(data, 3, 1));
  EXPECT_TRUE(is_within(data, 2, 2));
  EXPECT_FALSE(is_within(data, 1, 2));
}

// A region of Python's that is on, in it a script's that is on, in it a script's that is off.
store::RunData around_a_script(bool eager_on) {
  store::RunData data;
  data.regions = {
      {.id = 1, .parent = 0, .device = kCpu, .enabled = eager_on, .kind = lanes::RegionKind::kContext},
      {.id = 2, .parent = 1, .device = kCpu, .enabled = true, .kind = lanes::RegionKind::kScript},
      {.id = 3, .parent = 2, .device = kCpu, .enabled = false, .kind = lanes::RegionKind::kScript},
  };
  return data;
}

TEST(RegionsTest, EagerAutocastKnowsNoRegionOfAScript) {
  const store::RunData on = around_a_script(true), off = around_a_script(false);
  EXPECT_EQ(eager_region(on, 3, kCpu), &on.region(1));
  EXPECT_EQ(eager_region(on, 3, kCuda), nullptr);
  EXPECT_EQ(eager_region(off, 2, kCpu), nullptr);
}

}  // namespace
}  // namespace castscope::rules
