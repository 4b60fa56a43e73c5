// A segment that a test writes, and what a relay makes of it.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <optional>

#include "agent/lanes/lane_writer.h"
#include "agent/lanes/segment_writer.h"
#include "proto/event_block.h"
#include "server/relay/segment_source.h"

namespace castscope::relay {

using namespace std::chrono_literals;
using testing::SizeIs;
using Made = std::vector<SegmentSource::Made>;

class SegmentSourceTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/source-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  void open(std::uint32_t ring_events = 1024) {
    std::string error;
    writer_.reset(lanes::SegmentWriter::create({.directory = directory_,
                                                .ring_events = ring_events,
                                                .max_bytes = lanes::kMaxSegmentBytes,
                                                .clock = lanes::Clock::kMonotonicNs},
                                               &error));
    ASSERT_NE(writer_, nullptr) << error;
    std::unique_ptr<lanes::SegmentReader> reader;
    ASSERT_EQ(lanes::SegmentReader::open(writer_->path(), &reader, &error), lanes::SegmentReader::Outcome::kOpen);
    source_ = std::make_unique<SegmentSource>(9, "key", "host", std::move(reader), 1s, redaction_);
  }
  lanes::Lane& new_lane() { return *writer_->acquire_lane(1); }
  lanes::Counter* new_counter(lanes::Lane& lane, std::uint32_t site) {
    const lanes::SiteDefinition definition{};
    writer_->define(lanes::DefinitionKind::kSite, site, &definition, sizeof definition);
    return writer_->new_counter(&lane, site);
  }
  void emit(lanes::Lane& lane, int count, std::optional<std::uint64_t> time = std::nullopt) {
    lanes::LaneWriter to(*writer_, lane);
    for (int i = 0; i < count; ++i)
      if (lanes::Event* event = to.begin_event()) {
        *event = lanes::Event{};
        event->kind = lanes::EventKind::kHit;
        event->time = time.value_or(writer_->now());
        to.publish();
      }
  }
  // Flushes a second after the last time, so that no event waits for more.
  Made flush(SegmentSource::End end = SegmentSource::End::kNone) {
    source_->drain(now_);
    now_ += 1s;
    return source_->make_batches(end, now_);
  }

  std::string directory_;
  SegmentSource::Clock::time_point now_{};
  std::unique_ptr<lanes::SegmentWriter> writer_;
  std::unique_ptr<SegmentSource> source_;
  std::shared_ptr<redaction::Redaction> redaction_;
};

}  // namespace castscope::relay
