#include "server/relay/live_counts.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>

#include "agent/lanes/definition_records.h"
#include "agent/lanes/lane_writer.h"
#include "agent/lanes/segment_writer.h"

namespace castscope::relay {
namespace {

class LiveCountsTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/counts-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  void open() {
    std::string error;
    writer_.reset(lanes::SegmentWriter::create({.directory = directory_,
                                                .ring_events = 1024,
                                                .max_bytes = lanes::kMaxSegmentBytes,
                                                .clock = lanes::Clock::kMonotonicNs},
                                               &error));
    ASSERT_NE(writer_, nullptr) << error;
  }
  void define_site(std::uint32_t id, lanes::Cause cause) {
    lanes::SiteDefinition site{};
    site.cause = cause;
    ASSERT_TRUE(writer_->define(lanes::DefinitionKind::kSite, id, &site, sizeof site));
  }
  LiveCounts counts(pid_t pid = getpid()) const {
    const auto counts = live_counts(directory_, pid);
    EXPECT_TRUE(counts.ok()) << counts.status().message();
    return counts.ok() ? *counts : LiveCounts();
  }

  std::string directory_;
  std::unique_ptr<lanes::SegmentWriter> writer_;
};

TEST_F(LiveCountsTest, ADirectoryWithoutSegmentsIsZero) {
  EXPECT_EQ(counts().casts, 0u);
  EXPECT_FALSE(live_counts(directory_ + "/gone", getpid()).ok());
}

TEST_F(LiveCountsTest, AddsUpThreadsAndGrows) {
  open();
  define_site(1, lanes::Cause::kAutocast);
  for (const int casts : {3, 4}) {
    lanes::Counter* counter = writer_->new_counter(writer_->acquire_lane(1), 1);
    ASSERT_NE(counter, nullptr);
    lanes::LaneWriter::add(counter->casts, static_cast<std::uint64_t>(casts));
    lanes::LaneWriter::add(counter->hits, 10);
  }
  EXPECT_EQ(counts().casts, 7u);
  EXPECT_EQ(counts().hits, 20u);
  EXPECT_EQ(counts(1).casts, 0u);  // another process
}

TEST_F(LiveCountsTest, OnlyWhatAutocastDidCounts) {
  open();
  define_site(1, lanes::Cause::kAutocast);
  define_site(2, lanes::Cause::kUserTo);
  const lanes::OperatorUseDefinition use{};
  ASSERT_TRUE(writer_->define(lanes::DefinitionKind::kOperatorUse, 3, &use, sizeof use));
  lanes::Lane* const lane = writer_->acquire_lane(1);
  define_site(4, lanes::Cause::kScript);
  for (const std::uint32_t site : {1u, 2u, 3u, 4u}) {
    lanes::LaneWriter::add(writer_->new_counter(lane, site)->casts, 5);
  }
  lanes::LaneWriter::add(lane->overflow.casts, 1);  // of sites beyond the limit
  EXPECT_EQ(counts().casts, 11u);
}

TEST_F(LiveCountsTest, AFileThatIsNoSegmentIsAnError) {
  std::ofstream(directory_ + "/" + std::to_string(getpid()) + "-0.lanes") << std::string(1 << 16, 'x');
  EXPECT_FALSE(live_counts(directory_, getpid()).ok());
}

}  // namespace
}  // namespace castscope::relay
