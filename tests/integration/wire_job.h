// A simulated job for wire_test.cc: writes a segment whose contents are known beforehand. Each event's tensor is its
// number in the lane, so that a lost, doubled or misplaced event shows.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "agent/lanes/event_views.h"
#include "agent/lanes/lane_writer.h"
#include "agent/lanes/segment_writer.h"

namespace castscope {

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string pattern = testing::TempDir() + "/wire-XXXXXX";
    if (mkdtemp(pattern.data()) != nullptr) path_ = pattern;
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

class WireJob {
 public:
  static constexpr std::uint32_t kSite = 1;
  explicit WireJob(const std::string& directory, std::uint32_t ring_events = lanes::kDefaultRingEvents) {
    std::string error;
    segment_.reset(lanes::SegmentWriter::create({.directory = directory,
                                                 .ring_events = ring_events,
                                                 .max_bytes = lanes::kMaxSegmentBytes,
                                                 .clock = lanes::kOwnCounter},
                                                &error));
    EXPECT_NE(segment_, nullptr) << error;
    segment_->define(lanes::DefinitionKind::kString, 1, "train.py", 8);
    const lanes::CodeDefinition code{1, 1, 1};
    segment_->define(lanes::DefinitionKind::kCode, 1, &code, sizeof code);
    const lanes::StackDefinition stack{1, 0};
    const lanes::Frame frame{1, 7};
    segment_->define(lanes::DefinitionKind::kStack, 1, &stack, sizeof stack, &frame, sizeof frame);
    lanes::SiteDefinition site{};
    site.stack = 1;
    site.cause = lanes::Cause::kAutocast;
    segment_->define(lanes::DefinitionKind::kSite, kSite, &site, sizeof site);
  }
  lanes::SegmentWriter& segment() { return *segment_; }

  class Thread {
   public:
    explicit Thread(WireJob& job)
        : lane_(job.segment_->acquire_lane(1)),
          writer_(*job.segment_, *lane_),
          counter_(job.segment_->new_counter(lane_, kSite)) {}
    void cast() {
      lanes::LaneWriter::add(counter_->casts, 1);
      lanes::Event* event = writer_.begin_event();
      if (event == nullptr) return;
      *event = lanes::Event{};
      event->time = writer_.now();
      event->kind = lanes::EventKind::kCast;
      event->site = kSite;
      lanes::EventWords::tensor(*event) = lane_->head.load(std::memory_order_relaxed);
      writer_.publish();
    }
    bool has_room() const {
      return lane_->head.load(std::memory_order_relaxed) - lane_->tail.load(std::memory_order_acquire) <
             lane_->ring_capacity;
    }
    lanes::Lane& lane() { return *lane_; }

   private:
    lanes::Lane* lane_;
    lanes::LaneWriter writer_;
    lanes::Counter* counter_;
  };

 private:
  std::unique_ptr<lanes::SegmentWriter> segment_;
};

}  // namespace castscope
