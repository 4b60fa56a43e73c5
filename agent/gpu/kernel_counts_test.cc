#include "agent/gpu/kernel_counts.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "agent/lanes/event_views.h"
#include "agent/lanes/segment_reader.h"

namespace castscope::gpu {
namespace {

constexpr std::uint64_t kCalled = 1'000'000;

class KernelCountsTest : public testing::Test {
 protected:
  KernelCountsTest() : folder_(testing::TempDir() + "kernel-counts-" + std::to_string(getpid())) {
    std::filesystem::create_directories(folder_);
    std::string error;
    lanes::SegmentWriter::Options options;
    options.directory = folder_;
    options.ring_events = 256;
    segment_.reset(lanes::SegmentWriter::create(options, &error));
    definitions_ = std::make_unique<agent::Definitions>(api_, *segment_);
    counts_ = std::make_unique<KernelCounts>(*segment_, *definitions_, *book_, nodes_, 1);
    counts_->clock().begin({kCalled, 5'000, 0});
    counts_->step_begins(kCalled - 100, 4);
    counts_->step_begins(kCalled + 100, 5);
  }
  ~KernelCountsTest() override { std::filesystem::remove_all(folder_); }

  std::uint64_t settled(const Purpose& purpose) {
    const std::uint64_t ticket = book_->open(0);
    book_->settle(ticket, purpose);
    return ticket;
  }
  static DeviceWork kernel(const char* name, std::uint64_t ns) {
    DeviceWork work;
    work.kind = cupti::kConcurrentKernel;
    work.start = kCalled + 50;
    work.end = kCalled + 50 + ns;
    work.name = name;
    work.stream = 7;
    return work;
  }

  struct Written {
    std::map<std::uint32_t, lanes::KernelDefinition> kernels;
    std::map<std::uint32_t, std::string> texts;
    std::map<std::uint32_t, lanes::CounterValues> counts;
    std::vector<lanes::Event> events;
    lanes::ProcessState state;
  };
  Written written() {
    Written t;
    std::unique_ptr<lanes::SegmentReader> reader;
    std::string error, records;
    EXPECT_EQ(lanes::SegmentReader::open(segment_->path(), &reader, &error), lanes::SegmentReader::Outcome::kOpen);
    reader->refresh();
    std::uint64_t first = 0;
    reader->take(0, 1'000, &t.events, &first);
    for (const lanes::CounterValues& values : reader->counters(0)) t.counts[values.site] = values;
    t.state = reader->process_state();
    while (reader->definitions(1 << 16, &records)) {
    }
    for (std::size_t at = 0; at < records.size();) {
      lanes::DefinitionHeader h;
      std::memcpy(&h, records.data() + at, sizeof h);
      const char* payload = records.data() + at + sizeof h;
      if (h.kind == lanes::DefinitionKind::kString) t.texts[h.id] = std::string(payload, h.payload);
      if (h.kind == lanes::DefinitionKind::kKernel) std::memcpy(&t.kernels[h.id], payload, sizeof t.kernels[h.id]);
      at += h.size;
    }
    return t;
  }

  agent::PythonApi api_{};
  std::string folder_;
  std::unique_ptr<lanes::SegmentWriter> segment_;
  std::unique_ptr<agent::Definitions> definitions_;
  std::unique_ptr<WorkBook> book_{new WorkBook};
  GraphNodes nodes_{*book_};
  std::unique_ptr<KernelCounts> counts_;
};

TEST_F(KernelCountsTest, KernelsOfTheSameCastAreCountedTogether) {
  const std::uint64_t ticket = settled({.site = 3, .use = 8, .op = 2});
  EXPECT_TRUE(counts_->place(kernel("copy", 1'000), ticket, kCalled, false));
  EXPECT_TRUE(counts_->place(kernel("copy", 500), ticket, kCalled + 200, false));
  const Written t = written();
  ASSERT_EQ(t.kernels.size(), 1u);
  const auto& [id, definition] = *t.kernels.begin();
  EXPECT_EQ(definition.site, 3u);
  EXPECT_EQ(definition.use, 8u);
  EXPECT_EQ(definition.op, 2u);
  EXPECT_EQ(definition.work, lanes::GpuWork::kKernel);
  EXPECT_EQ(definition.flags, 0);
  EXPECT_EQ(t.texts.at(definition.name), "copy");
  EXPECT_EQ(t.counts.at(id).casts, 2u);
  EXPECT_EQ(t.counts.at(id).hits, 1'500u) << "ns on the device";
  EXPECT_EQ(t.state.gpu_records, 2u);
}

TEST_F(KernelCountsTest, AnEventTellsWhenItRanAndInWhichStepItWasLaunched) {
  counts_->clock().follow({kCalled + 100'000, 5'000 + 250'000, 100'000});
  counts_->place(kernel("copy", 1'000), 0, kCalled, false);
  counts_->place(kernel("copy", 1'000), 0, kCalled + 150, false);
  const Written t = written();
  ASSERT_EQ(t.events.size(), 2u);
  EXPECT_EQ(t.events[0].kind, lanes::EventKind::kKernel);
  EXPECT_EQ(t.events[0].site, t.kernels.begin()->first);
  EXPECT_EQ(t.events[0].time, 5'000u + 125);
  EXPECT_EQ(t.events[0].duration, 2'500u);
  EXPECT_EQ(as_kernel(t.events[0]).waited, 125u) << "from its launch to its begin";
  EXPECT_EQ(as_kernel(t.events[0]).stream, 7u);
  EXPECT_EQ(t.events[0].step, 4u);
  EXPECT_EQ(t.events[1].step, 5u);
  EXPECT_EQ(as_kernel(t.events[1]).waited, 0u) << "the clocks disagree: not before its launch";
}

TEST_F(KernelCountsTest, WhatIsOpenWaitsAndAtLastIsUnplaced) {
  const std::uint64_t ticket = book_->open(0);
  EXPECT_FALSE(counts_->place(kernel("mm", 10), ticket, kCalled, false));
  EXPECT_TRUE(written().kernels.empty());
  EXPECT_TRUE(counts_->place(kernel("mm", 10), ticket, kCalled, true));
  const Written t = written();
  EXPECT_EQ(t.kernels.begin()->second.flags, lanes::kKernelUnplaced);
  EXPECT_EQ(t.state.gpu_unplaced, 1u);
}

TEST_F(KernelCountsTest, AReplayIsOfWhatWasCaptured) {
  const std::uint64_t ticket = settled({.use = 8, .op = 2});
  nodes_.created(100, ticket);
  nodes_.cloned(200, 100);
  DeviceWork work = kernel("mm", 10);
  work.graph_node = 200;
  counts_->place(work, 0, kCalled, false);
  work.graph_node = 999;
  counts_->place(work, 0, kCalled, false);
  const Written t = written();
  ASSERT_EQ(t.kernels.size(), 2u);
  EXPECT_EQ(t.kernels.begin()->second.use, 8u);
  EXPECT_EQ(t.kernels.begin()->second.flags, lanes::kKernelReplayed);
  EXPECT_EQ(t.kernels.rbegin()->second.use, 0u) << "captured before anybody looked";
  EXPECT_EQ(t.kernels.rbegin()->second.flags, lanes::kKernelReplayed);
}

TEST_F(KernelCountsTest, CopiesAndSetsAreNamedAsPeopleKnowThem) {
  DeviceWork work = kernel(nullptr, 10);
  work.kind = cupti::kMemcpy;
  work.direction = 1;
  work.bytes = 4'096;
  counts_->place(work, 0, kCalled, false);
  work.kind = cupti::kMemset;
  counts_->place(work, 0, kCalled, false);
  const Written t = written();
  ASSERT_EQ(t.kernels.size(), 2u);
  const auto& [copy, definition] = *t.kernels.begin();
  EXPECT_EQ(t.texts.at(definition.name), "Memcpy HtoD");
  EXPECT_EQ(definition.work, lanes::GpuWork::kCopy);
  EXPECT_EQ(t.counts.at(copy).bytes, 4'096u);
  EXPECT_EQ(t.texts.at(t.kernels.rbegin()->second.name), "Memset");
}

TEST_F(KernelCountsTest, ACastTimedByEventsIsCountedByItsOperatorAndTellsNoMore) {
  using Placed = EventTiming::Sink::Placed;
  const std::uint64_t op = book_->open(0), cast = book_->open(op);
  book_->settle(cast, {.site = 3});
  EXPECT_EQ(counts_->place_cast(cast, 1, 4'000, false), Placed::kNotYet) << "the operator is not over";
  book_->settle(op, {.use = 8, .op = 2});
  EXPECT_EQ(counts_->place_cast(cast, 1, 4'000, false), Placed::kCounted);
  EXPECT_EQ(counts_->place_cast(cast, 1, 1'000, false), Placed::kCounted);
  const Written t = written();
  ASSERT_EQ(t.kernels.size(), 1u);
  const auto& [id, definition] = *t.kernels.begin();
  EXPECT_EQ(definition.work, lanes::GpuWork::kCastByEvents);
  EXPECT_EQ(std::tuple(definition.site, definition.use, definition.device), std::tuple(3u, 8u, 1));
  EXPECT_EQ(definition.flags, 0);
  EXPECT_EQ(t.counts.at(id).casts, 2u);
  EXPECT_EQ(t.counts.at(id).hits, 5'000u);
  EXPECT_EQ(t.state.gpu_records, 0u);
  EXPECT_TRUE(t.events.empty());
}

TEST_F(KernelCountsTest, ACastTimedByEventsIsOfASiteOrOfNobody) {
  using Placed = EventTiming::Sink::Placed;
  const std::uint64_t op = book_->open(0), cast = book_->open(op), unsettled = book_->open(op);
  book_->settle(cast, {.site = 3});
  EXPECT_EQ(counts_->place_cast(cast, 0, 100, true), Placed::kCounted);
  EXPECT_EQ(counts_->place_cast(unsettled, 0, 100, true), Placed::kUnknown);
  const Written t = written();
  ASSERT_EQ(t.kernels.size(), 1u);
  EXPECT_EQ(t.kernels.begin()->second.flags, lanes::kKernelUnplaced);
  EXPECT_EQ(t.kernels.begin()->second.site, 3u);
}

TEST_F(KernelCountsTest, CountsGoOnWhenTheRingIsFull) {
  for (int i = 0; i < 1'000; ++i) counts_->place(kernel("mm", 3), 0, kCalled, false);
  const Written t = written();
  EXPECT_LT(t.events.size(), 256u);
  EXPECT_EQ(t.counts.at(t.kernels.begin()->first).casts, 1'000u);
  EXPECT_EQ(t.counts.at(t.kernels.begin()->first).hits, 3'000u);
}

}  // namespace
}  // namespace castscope::gpu
