// Tests the rows that show what GPUs did.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/timeline/testing/test_events.h"

namespace castscope::timeline {
namespace {

using Kernel = TestNumbers::KernelId;

class KernelsTest : public ::testing::Test {
 protected:
  std::vector<Track> rows() const {
    std::vector<Track> rows = timeline_.tracks();
    std::erase_if(rows, [](const Track& track) { return track.kind != TrackKind::kKernels; });
    return rows;
  }
  // "0.7: cast_kernel@10-20 kernel@20-25; 0.7/1: …", by device.stream/depth.
  std::string shown() const {
    std::string text;
    for (const Track& row : rows()) {
      text += (text.empty() ? "" : "; ") + std::to_string(row.device) + "." + std::to_string(row.stream);
      if (row.depth > 0) text += "/" + std::to_string(row.depth);
      text += ":";
      NeighbourQuery query{.at = -1, .filter = {.tracks = {row.id}}};
      while (const auto found = timeline_.neighbour(query)) {
        text.append(" ").append(name(found->shade.kind)).append("@").append(std::to_string(found->begin));
        text += "-" + std::to_string(found->end);
        query.at = found->begin;
      }
    }
    return text;
  }
  std::uint32_t local(Kernel kernel) const { return TestNumbers::local(store::ProcessId(1), kernel); }

  Timeline timeline_;
  Feeder feed_{timeline_};
};

TEST_F(KernelsTest, EachStreamOfEachDeviceHasARow) {
  feed_.lane(5).run(10, 20, Kernel::kCastKernel).run(20, 25, Kernel::kMatmulKernel).run(12, 15, Kernel::kCopyKernel, 9);
  feed_.run(13, 14, Kernel::kMatmulKernel, 7, 1);
  EXPECT_EQ(shown(), "0.7: cast_kernel@10-20 kernel@20-25; 0.9: gpu_copy@12-15; 1.7: kernel@13-14");
}

// The thread that reads the driver's records does nothing else.
TEST_F(KernelsTest, AreAllThatTheirThreadHasAndComeAfterOtherThreads) {
  feed_.lane(3)
      .mark(lanes::EventKind::kThread, 5)
      .run(10, 20, Kernel::kCastKernel)
      .lane(8)
      .hit(15, 1)
      .lane(1)
      .hit(7, 1);
  std::vector<std::pair<std::uint32_t, TrackKind>> order;
  for (const Track& track : timeline_.tracks()) order.emplace_back(track.lane, track.kind);
  EXPECT_THAT(order, ::testing::ElementsAre(std::pair(1, TrackKind::kCasts), std::pair(8, TrackKind::kCasts),
                                            std::pair(3, TrackKind::kKernels)));
}

TEST_F(KernelsTest, AreDrawnByWhatTheyWereLaunchedFor) {
  feed_.run(10, 20, Kernel::kCastKernel).run(30, 40, Kernel::kMatmulKernel).run(50, 60, Kernel::kCopyKernel);
  feed_.run(70, 80, 99);
  const std::uint32_t row = rows().at(0).id;
  const auto shade = [&](std::int64_t at) { return timeline_.event_at(row, at, 0)->shade; };
  EXPECT_EQ(shade(10).cause, lanes::Cause::kAutocast);
  EXPECT_EQ(shade(10).dtype, kBrain);
  EXPECT_EQ(shade(30).cause, lanes::Cause::kUnknown);
  EXPECT_EQ(shade(30).dtype, kBrain);
  EXPECT_EQ(shade(50).dtype, kNoDtype);
  EXPECT_EQ(shade(70).kind, ShadeKind::kKernel);
  EXPECT_EQ(timeline_.event_at(row, 70, 0)->subject, 0u);
}

TEST_F(KernelsTest, OneKnowsItsStreamAndNoStepThatOnlyWentOnMeanwhile) {
  feed_.step(5, 3).enter(6, 1).run(10, 20, Kernel::kMatmulKernel, 9, 2);
  const auto found = timeline_.event_at(rows().at(0).id, 15, 0);
  EXPECT_EQ(found->device, 2u);
  EXPECT_EQ(found->stream, 9u);
  EXPECT_EQ(found->subject, static_cast<std::uint32_t>(Kernel::kMatmulKernel));
  EXPECT_EQ(found->step, std::nullopt);
  EXPECT_EQ(found->region, std::nullopt);
}

TEST_F(KernelsTest, OfABatchTheyAreInTheOrderOfTime) {
  const lanes::Event batch[] = {kernel_event(50, 60, local(Kernel::kMatmulKernel)),
                                kernel_event(10, 20, local(Kernel::kCastKernel)),
                                kernel_event(20, 30, local(Kernel::kMatmulKernel))};
  feed_.feed(batch);
  EXPECT_EQ(shown(), "0.7: cast_kernel@10-20 kernel@20-30 kernel@50-60");
}

TEST_F(KernelsTest, WhatFindsItsPlaceTakenLiesBelowWithAllItsTime) {
  feed_.run(10, 50, Kernel::kMatmulKernel).run(20, 30, Kernel::kCastKernel).run(30, 40, Kernel::kCastKernel);
  feed_.run(50, 60, Kernel::kMatmulKernel);
  EXPECT_EQ(shown(), "0.7: kernel@10-50 kernel@50-60; 0.7/1: cast_kernel@20-30 cast_kernel@30-40");
}

TEST_F(KernelsTest, OfTooManyAtOnceTheLastBeginsLater) {
  for (int i = 0; i < 5; ++i) feed_.run(10 + i, 50 + i, Kernel::kMatmulKernel);
  EXPECT_EQ(shown(), "0.7: kernel@10-50; 0.7/1: kernel@11-51; 0.7/2: kernel@12-52; 0.7/3: kernel@13-53 kernel@53-54");
}

TEST_F(KernelsTest, LeaveStepsAndRegionsAsLongAsTheirThreadsWere) {
  feed_.step(5, 1).enter(6, 1).hit(30, 1).lane(2).run(20, 900, Kernel::kMatmulKernel);
  EXPECT_EQ(timeline_.progress().newest, 900);
  timeline_.end();
  const auto steps = timeline_.neighbour({.at = -1});
  EXPECT_EQ(steps->shade.track, TrackKind::kSteps);
  EXPECT_EQ(steps->end, 30);
}

TEST_F(KernelsTest, StreamsWithoutEndShareARow) {
  for (std::uint32_t stream = 0; stream < 1000; ++stream) feed_.run(stream * 10, stream * 10 + 5, 1, stream);
  const std::vector<Track> all = rows();
  EXPECT_EQ(all.size(), 257u);
  EXPECT_EQ(all.back().stream, kOtherStreams);
  EXPECT_EQ(timeline_.event_at(all.back().id, 9990, 0)->begin, 9990);
}

}  // namespace
}  // namespace castscope::timeline
