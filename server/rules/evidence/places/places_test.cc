#include "server/rules/evidence/places/places.h"

#include <gtest/gtest.h>

namespace castscope::rules {
namespace {

store::RunData two_lines() {
  store::RunData data;
  data.start.cwd = "/home/user/project";
  data.stacks = {{.frames = {{.file = "/home/user/project/models/net.py", .function = "Net.forward", .line = 40}}},
                 {.frames = {{.file = "/opt/other/train.py", .function = "main", .line = 12}}}};
  return data;
}

TEST(PlacesTest, TextsOfOneLine) {
  const store::RunData data = two_lines();
  const Line line = line_of(data, store::StackId(1));
  EXPECT_EQ(place_text(data, line), "models/net.py:40");
  EXPECT_EQ(line.short_text(), "net.py:40");
  EXPECT_EQ(place_text(data, *data.user_location(store::StackId(1))), "models/net.py:40");
  EXPECT_EQ(place_text(data, *data.user_location(store::StackId(2))),
            "/opt/other/train.py:12");  // not in the project
  // The job was started in a folder of its checkout.
  store::RunData below = data;
  below.start.cwd = "/home/user/project/models";
  below.start.checkout = "/home/user/project";
  EXPECT_EQ(place_text(below, *below.user_location(store::StackId(1))), "models/net.py:40");
}

TEST(PlacesTest, NoStackIsNoLine) {
  const store::RunData data = two_lines();
  EXPECT_EQ(line_of(data, {}), Line());
  EXPECT_TRUE(frames_of(data, {}).empty());
  EXPECT_FALSE(is_inside_torch(data, {}));
}

}  // namespace
}  // namespace castscope::rules
