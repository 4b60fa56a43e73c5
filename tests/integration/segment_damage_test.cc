// A byte of a segment is another one: relay and collector lose what that byte belongs to, and nothing else; the run is
// not complete wherever something is lost.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <random>

#include "agent/lanes/lane_writer.h"
#include "agent/lanes/segment_reader.h"
#include "agent/lanes/segment_writer.h"
#include "server/ingest/testing/recording_sink.h"
#include "server/ingest/validation/validator.h"
#include "server/relay/segment_source.h"
#include "tests/integration/wire_job.h"

namespace castscope {
namespace {

using ingest::RecordingSink;
using relay::SegmentSource;

constexpr std::uint32_t kSites = 140, kFacts = 5, kEvents = 100;  // more counters than a block has
constexpr int kRounds = 200;                                      // for each part

bool same(const store::CounterRow& a, const store::CounterRow& b) { return std::memcmp(&a, &b, sizeof a) == 0; }

// What came of a segment.
struct Outcome {
  bool complete = false;
  std::size_t events = 0, definitions = 0;
  std::uint64_t casts = 0;  // of sites, with and without a place
  std::map<std::pair<std::uint32_t, std::uint32_t>, store::CounterRow> counters;
};

class SegmentDamageTest : public testing::Test {
 protected:
  struct Part {
    std::uint64_t begin = 0, bytes = 0;
  };

  SegmentDamageTest() {
    std::string error;
    segment_.reset(lanes::SegmentWriter::create({.directory = directory_.path(),
                                                 .ring_events = 256,
                                                 .max_bytes = lanes::kMaxSegmentBytes,
                                                 .clock = lanes::Clock::kMonotonicNs},
                                                &error));
    define();
    for (std::uint32_t thread = 1; thread <= 2; ++thread) count(*segment_->acquire_lane(thread));
    segment_->mark_end(lanes::EndMark::kExited, 1);
    std::ifstream in(segment_->path(), std::ios::binary);
    good_.resize(segment_->header().allocated.load());
    in.read(good_.data(), static_cast<std::streamsize>(good_.size()));
    whole_ = read(good_);
  }

  void define() {
    segment_->define(lanes::DefinitionKind::kString, 1, "train.py", 8);
    const lanes::CodeDefinition code{1, 1, 1};
    segment_->define(lanes::DefinitionKind::kCode, 1, &code, sizeof code);
    for (std::uint32_t id = 1; id <= kSites; ++id) {
      const lanes::StackDefinition stack{1, 0};
      const lanes::Frame frame{1, id};
      segment_->define(lanes::DefinitionKind::kStack, id, &stack, sizeof stack, &frame, sizeof frame);
      lanes::SiteDefinition site{};
      site.stack = id;
      site.cause = lanes::Cause::kAutocast;
      segment_->define(lanes::DefinitionKind::kSite, id, &site, sizeof site);
    }
    for (std::uint32_t id = kSites + 1; id <= kSites + kFacts; ++id) {
      const lanes::FactDefinition fact{
          .kind = lanes::FactKind::kBackward, .detail = 0, .subject = 0, .stack = 1, .text = 0};
      segment_->define(lanes::DefinitionKind::kFact, id, &fact, sizeof fact);
    }
    const std::uint64_t block = segment_->header().first_definitions;
    const std::uint64_t used = segment_->at<lanes::DefinitionBlock>(block)->end;
    definitions_ = {block + sizeof(lanes::DefinitionBlock), used - sizeof(lanes::DefinitionBlock)};
  }
  void count(lanes::Lane& lane) {
    lanes::LaneWriter to(*segment_, lane);
    lanes::LaneWriter::add(lane.overflow.casts, 3);
    for (std::uint32_t number = 1; number <= kSites + kFacts; ++number) {
      lanes::Counter& counter = *segment_->new_counter(&lane, number);
      lanes::LaneWriter::add(counter.casts, 1'000 + number);
      if (number > kSites) continue;
      for (auto* word : {&counter.hits, &counter.bytes, &counter.ticks, &counter.kept})
        lanes::LaneWriter::add(*word, 20'000 + number);
    }
    for (std::uint32_t i = 0; i < kEvents; ++i) {
      lanes::Event* event = to.begin_event();
      *event = lanes::Event{};
      event->kind = lanes::EventKind::kCast;
      event->time = segment_->now();
      event->site = 1 + i % kSites;
      to.publish();
    }
    rings_.push_back({lane.ring, kEvents * sizeof(lanes::Event)});
    lanes_.push_back(lane.ring - sizeof(lanes::Lane));
    blocks_.push_back(lane.first_counters);
  }

  // As relay and collector read it.
  Outcome read(const std::string& bytes) {
    const std::string path = directory_.path() + "/bad.lanes";
    std::ofstream(path, std::ios::binary) << bytes;
    Outcome outcome;
    std::unique_ptr<lanes::SegmentReader> reader;
    std::string error;
    if (lanes::SegmentReader::open(path, &reader, &error) != lanes::SegmentReader::Outcome::kOpen) return outcome;
    SegmentSource source(1, "host/1/1/0", "host", std::move(reader), SegmentSource::Clock::duration(0));
    source.set_end(relay::ProcessEnd::kExited);
    RecordingSink sink;
    ingest::RunValidator validator;
    source.drain({});
    outcome.complete = true;
    for (const SegmentSource::Made& made : source.make_batches(SegmentSource::End::kSeen, {})) {
      const ingest::Verdict verdict = validator.apply(made.message->batch(), sink);
      EXPECT_TRUE(verdict.failed.ok()) << verdict.failed;
      outcome.complete &= verdict.rejected.ok();
    }
    outcome.complete &= source.problem().empty() && sink.missing.empty();
    outcome.definitions = static_cast<std::size_t>(sink.definitions);
    for (const auto& [key, process] : sink.processes) add_up(process, outcome);
    return outcome;
  }
  static void add_up(const RecordingSink::Process& process, Outcome& outcome) {
    outcome.counters = process.counters;
    for (const auto& [id, lane] : process.lanes) {
      outcome.events += lane.events.size();
      outcome.complete &= lane.row.received == lane.row.written;  // as store/run/completeness.cc has it
    }
    for (const auto& [id, counter] : process.counters)
      if (!process.facts.contains(counter.site)) outcome.casts += counter.casts;
  }

  // Changes a byte of a part, hundreds of times.
  template <typename Check>
  void damage(const std::vector<Part>& parts, Check check) {
    std::mt19937_64 random(20261129);
    for (int round = 0; round < kRounds; ++round) {
      const Part& part = parts[random() % parts.size()];
      const std::uint64_t at = part.begin + random() % part.bytes;
      std::string bad = good_;
      bad[at] = static_cast<char>(bad[at] ^ (1 + random() % 255));
      check(read(bad), "byte " + std::to_string(at - part.begin) + " of the part at " + std::to_string(part.begin));
      if (HasFailure()) break;
    }
  }
  static std::vector<Part> of_size(const std::vector<std::uint64_t>& places, std::uint64_t bytes) {
    std::vector<Part> parts;
    for (const std::uint64_t place : places) parts.push_back({place, bytes});
    return parts;
  }
  std::size_t counters_unlike(const Outcome& now) const {
    std::size_t unlike = 0;
    for (const auto& [id, counter] : whole_.counters)
      unlike += now.counters.contains(id) && same(now.counters.at(id), counter) ? 0 : 1;
    return unlike;
  }
  void expect_complete_or_all_there(const Outcome& now, const std::string& where) {
    if (!now.complete) return;
    EXPECT_EQ(now.events, whole_.events) << where;
    EXPECT_EQ(now.definitions, whole_.definitions) << where;
    EXPECT_EQ(now.casts, whole_.casts) << where;
  }

  TemporaryDirectory directory_;
  std::unique_ptr<lanes::SegmentWriter> segment_;
  std::string good_;
  Outcome whole_;
  Part definitions_;
  std::vector<Part> rings_;
  std::vector<std::uint64_t> lanes_, blocks_;  // where they begin
};

TEST_F(SegmentDamageTest, WithoutDamageAllIsThere) {
  EXPECT_TRUE(whole_.complete);
  EXPECT_EQ(whole_.events, 2 * kEvents);
  EXPECT_EQ(whole_.counters.size(), 2 * (kSites + kFacts + 1));
  EXPECT_EQ(whole_.casts, 2 * (3 + kSites * 1'000 + kSites * (kSites + 1) / 2));
}

TEST_F(SegmentDamageTest, InARingItCostsTheEventAndNoCount) {
  std::size_t lost = 0;
  damage(rings_, [&](const Outcome& now, const std::string& where) {
    EXPECT_EQ(counters_unlike(now), 0u) << where;
    EXPECT_GE(now.events, whole_.events - 1) << where;
    expect_complete_or_all_there(now, where);
    lost += whole_.events - now.events;
  });
  EXPECT_GT(lost, 0u);
}

TEST_F(SegmentDamageTest, InDefinitionsItCostsNoCast) {
  std::size_t lost = 0;
  damage({definitions_}, [&](const Outcome& now, const std::string& where) {
    EXPECT_EQ(now.events, whole_.events) << where;
    EXPECT_EQ(now.casts, whole_.casts) << where;
    for (const auto& [id, counter] : now.counters)
      EXPECT_TRUE(id.second == 0 || same(counter, whole_.counters.at(id))) << where;
    expect_complete_or_all_there(now, where);
    lost += now.complete ? 0 : 1;
  });
  EXPECT_GT(lost, 0u);
}

// What is another number now cannot be told from what it was; of the rest nothing is lost without a word.
TEST_F(SegmentDamageTest, InCountersItCostsNoOtherCounter) {
  std::vector<Part> parts;
  for (const std::uint64_t block : blocks_) {
    parts.push_back({block + sizeof(lanes::CounterBlock::next), lanes::kCountersPerBlock * sizeof(lanes::Counter)});
    // So that the link leads out of the file: within it anything looks like a counter.
    parts.push_back({block + 3, sizeof(lanes::CounterBlock::next) - 3});
  }
  damage(parts, [&](const Outcome& now, const std::string& where) {
    EXPECT_EQ(now.events, whole_.events) << where;
    EXPECT_EQ(now.definitions, whole_.definitions) << where;
    // The counter and that of which it has the number now; or all of a lane's second block.
    EXPECT_LE(counters_unlike(now), now.complete ? 2 : kSites + kFacts - lanes::kCountersPerBlock) << where;
  });
}

TEST_F(SegmentDamageTest, InHeadersItEndsNothing) {
  std::vector<Part> parts = of_size(lanes_, sizeof(lanes::Lane));
  parts.push_back({0, sizeof(lanes::SegmentHeader)});
  parts.push_back({definitions_.begin - sizeof(lanes::DefinitionBlock), sizeof(lanes::DefinitionBlock)});
  std::size_t read = 0;
  damage(parts, [&](const Outcome& now, const std::string&) { read += now.counters.empty() ? 0 : 1; });
  EXPECT_GT(read, kRounds / 2u);
}

}  // namespace
}  // namespace castscope
