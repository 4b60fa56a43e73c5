// Events that only serve the picture leave room for those that make up steps, and are not counted as dropped.
// (lanes_test.cc tests everything else about a lane's writer, together with the reader.)
#include "agent/lanes/lane_writer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>

namespace castscope::lanes {
namespace {

class LaneWriterTest : public testing::Test {
 protected:
  LaneWriterTest() : folder_(testing::TempDir() + "lane-writer-" + std::to_string(getpid())) {
    std::filesystem::create_directories(folder_);
  }
  ~LaneWriterTest() override { std::filesystem::remove_all(folder_); }

  void open(std::uint32_t ring_events, std::uint64_t max_bytes = kMaxSegmentBytes) {
    std::string error;
    segment_.reset(SegmentWriter::create(
        {.directory = folder_, .ring_events = ring_events, .max_bytes = max_bytes, .clock = Clock::kMonotonicNs},
        &error));
    ASSERT_NE(segment_, nullptr) << error;
  }
  LaneWriter lane() {
    lane_ = segment_->acquire_lane(++tid_);
    return {*segment_, *lane_};
  }
  std::uint64_t written() const { return lane_->head.load(); }
  std::uint64_t dropped() const { return lane_->dropped.load(); }
  void release(std::uint64_t end) { lane_->tail.store(end); }
  static void push(LaneWriter& to, int count) {
    for (; count > 0; --count) publish(to, to.begin_event());
  }
  static void push_picture(LaneWriter& to, int count) {
    for (; count > 0; --count) publish(to, to.begin_picture_event());
  }

  std::string folder_;
  std::unique_ptr<SegmentWriter> segment_;
  Lane* lane_ = nullptr;
  std::uint32_t tid_ = 0;

 private:
  static void publish(LaneWriter& to, Event* event) {
    if (event == nullptr) return;
    *event = Event{};
    to.publish();
  }
};

TEST_F(LaneWriterTest, ThePictureLeavesThreeEighthsOfTheRing) {
  open(256);
  LaneWriter to = lane();
  push_picture(to, 300);
  EXPECT_EQ(written(), 160u);
  push(to, 96);
  EXPECT_EQ(written(), 256u);
  EXPECT_EQ(dropped(), 0u) << "what was left out is missed by nobody";
  push(to, 1);
  EXPECT_EQ(dropped(), 1u);
}

TEST_F(LaneWriterTest, ThePictureGoesOnWhereRoomWasMade) {
  open(256);
  LaneWriter to = lane();
  push(to, 256);
  push_picture(to, 1);
  EXPECT_EQ(written(), 256u);
  release(97);  // 159 are left
  push_picture(to, 10);
  EXPECT_EQ(written(), 257u);
}

// The reader lets go of what it took when more than half of the ring waits for acknowledgements.
TEST_F(LaneWriterTest, AReaderWhoKeepsUpMakesRoomForThePicture) {
  EXPECT_GT(most_with_picture(kSmallestRingEvents), kSmallestRingEvents / 2 + 1);
}

TEST_F(LaneWriterTest, ALaneWithoutARingTakesNoPictureAndDropsNone) {
  open(1024, 1 << 20);
  LaneWriter to = lane();
  while (lane_->ring_capacity > 0) to = lane();
  push_picture(to, 3);
  EXPECT_EQ(written() + dropped(), 0u);
  push(to, 3);
  EXPECT_EQ(dropped(), 3u);
}

}  // namespace
}  // namespace castscope::lanes
