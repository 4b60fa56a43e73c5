// The records that deep steps add to a segment: their definitions, counters, events and header words, from the writer
// to the reader, and as lanes_dump prints them.
#include <gtest/gtest.h>
#include <unistd.h>

#include <bit>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "agent/lanes/event_views.h"
#include "agent/lanes/lane_writer.h"
#include "agent/lanes/segment_reader.h"
#include "agent/lanes/segment_writer.h"

namespace castscope::lanes {
namespace {

constexpr OperatorUseDefinition kUse{.stack = 1,
                                     .module = 2,
                                     .op = 3,
                                     .region = 4,
                                     .node = 1,
                                     .phase = Phase::kBackward,
                                     .device = 0,
                                     .computed = 6,
                                     .result = 15,
                                     .flags = kUseEligible | kUseGradMode,
                                     .operands = 2,
                                     .arguments = 3};
constexpr Operand kOperands[2] = {{0, 15, Role::kActivation, 0}, {1, 6, Role::kWeight, kOperandRequiresGrad, 15}};
constexpr FlowDefinition kTheFlow{.from = 7, .to = 8, .argument = 1, .cast_to = 15, .reserved = {}};
constexpr FactDefinition kTheFact{.kind = FactKind::kError, .detail = 1, .subject = 7, .stack = 1, .text = 2};

class DeepRecordsTest : public testing::Test {
 protected:
  DeepRecordsTest() : folder_(testing::TempDir() + "deep-" + std::to_string(getpid())) {
    std::filesystem::create_directories(folder_);
    std::string error;
    writer_.reset(SegmentWriter::create(
        {.directory = folder_, .ring_events = 256, .max_bytes = kMaxSegmentBytes, .clock = Clock::kMonotonicNs},
        &error));
    EXPECT_NE(writer_, nullptr) << error;
    fill();
    EXPECT_EQ(SegmentReader::open(writer_->path(), &reader_, &error), SegmentReader::Outcome::kOpen) << error;
  }
  ~DeepRecordsTest() override { std::filesystem::remove_all(folder_); }

  void fill() {
    writer_->define(DefinitionKind::kString, 1, "MmBackward0", 11);
    writer_->define(DefinitionKind::kString, 2, "expected BFloat16", 17);
    writer_->define(DefinitionKind::kString, 3, "self,mat2", 9);
    writer_->define(DefinitionKind::kOperatorUse, 7, &kUse, sizeof kUse, kOperands, sizeof kOperands);
    writer_->define(DefinitionKind::kFlow, 9, &kTheFlow, sizeof kTheFlow);
    writer_->define(DefinitionKind::kFact, 10, &kTheFact, sizeof kTheFact);
    Lane* lane = writer_->acquire_lane(1);
    Counter* counter = writer_->new_counter(lane, 7);
    LaneWriter::add(counter->casts, 3);
    LaneWriter::add(counter->bytes, 4096);
    LaneWriter::add(counter->ticks, 250);
    SegmentHeader& header = writer_->header();
    header.deep_steps.fetch_add(3);
    header.deep_operators.fetch_add(120);
    header.deep_ticks.fetch_add(5000);
    LaneWriter to(*writer_, *lane);
    Event values{};
    values.site = 7;
    put(values, ValuesEvent{.most = 65536.5,
                            .elements = 1000,
                            .sampled = 256,
                            .not_finite = 1,
                            .zeros = 2,
                            .integers = 200,
                            .beyond = 5});
    Event scale{};
    scale.kind = EventKind::kScaler;
    put(scale, ScalerEvent{65536.0, 32768.0});
    Event mm{};
    mm.kind = EventKind::kOperator;
    mm.site = 7;
    mm.bytes = 2048;
    mm.duration = 1500;
    mm.flags = 1;
    for (const Event& event : {values, scale, mm}) {
      *to.begin_event() = event;
      to.publish();
    }
  }
  std::string dump() const {
    const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen((LANES_DUMP " " + writer_->path()).c_str(), "r"), pclose);
    std::string text;
    for (int c; (c = fgetc(pipe.get())) != EOF;) text.push_back(static_cast<char>(c));
    return text;
  }

  std::string folder_;
  std::unique_ptr<SegmentWriter> writer_;
  std::unique_ptr<SegmentReader> reader_;
};

TEST_F(DeepRecordsTest, DefinitionsComeOutAsTheyWentIn) {
  std::string records;
  while (reader_->definitions(1 << 16, &records)) {
  }
  std::vector<DefinitionKind> kinds;
  for (std::size_t at = 0; at < records.size();) {
    DefinitionHeader h;
    std::memcpy(&h, records.data() + at, sizeof h);
    const char* payload = records.data() + at + sizeof h;
    at += h.size;
    kinds.push_back(h.kind);
    if (h.kind == DefinitionKind::kOperatorUse) {
      ASSERT_EQ(h.payload, sizeof kUse + sizeof kOperands);
      EXPECT_EQ(std::memcmp(payload, &kUse, sizeof kUse), 0);
      EXPECT_EQ(std::memcmp(payload + sizeof kUse, kOperands, sizeof kOperands), 0);
    } else if (h.kind == DefinitionKind::kFlow) {
      EXPECT_EQ(std::memcmp(payload, &kTheFlow, sizeof kTheFlow), 0);
    } else if (h.kind == DefinitionKind::kFact) {
      EXPECT_EQ(std::memcmp(payload, &kTheFact, sizeof kTheFact), 0);
    }
  }
  EXPECT_EQ(kinds, (std::vector{DefinitionKind::kString, DefinitionKind::kString, DefinitionKind::kString,
                                DefinitionKind::kOperatorUse, DefinitionKind::kFlow, DefinitionKind::kFact}));
}

TEST_F(DeepRecordsTest, CountersAndHeaderWordsAreRead) {
  const CounterValues expected{.site = 7, .casts = 3, .bytes = 4096, .ticks = 250};
  EXPECT_EQ(reader_->counters(0).at(1), expected);
  const ProcessState state = reader_->process_state();
  EXPECT_EQ(state.deep_steps, 3u);
  EXPECT_EQ(state.deep_operators, 120u);
  EXPECT_EQ(state.deep_ticks, 5000u);
}

TEST_F(DeepRecordsTest, TheDumpHasThemAll) {
  const std::string text = dump();
  for (const char* line :
       {"deep steps 3 operators 120 ns 5000\n",
        "use 7 stack 1 module 2 operator 3 region 4 node 'MmBackward0' phase 2 device 0 0:15/4/0/255 1:6/2/2/15 in 6 "
        "gives 15 flags 65 of 'self,mat2'\n",
        "flow 9 from 7 to 8 argument 1 cast 15\n", "fact 10 kind 3 detail 1 subject 7 stack 1 expected BFloat16\n",
        "counter site 7 casts 3 hits 0 passes 0 traced 0 bytes 4096 ns 250 kept 0\n",
        "bytes 1000 entries 5 flags 0 most 65536.5 sampled 256 not_finite 1 zeros 2 integers 200\n",
        "flags 0 scale 65536 -> 32768\n", "kind 13 site 7 ", " took 1500 bytes 2048 entries 0 flags 1\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << "in\n" << text;
}

}  // namespace
}  // namespace castscope::lanes
