#include "server/relay/segment_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <optional>

#include "agent/lanes/lane_writer.h"
#include "agent/lanes/segment_writer.h"
#include "proto/event_block.h"

namespace castscope::relay {
namespace {

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

TEST_F(SegmentSourceTest, IntroducesItselfOnceAndSaysNothingWhenNothingIsNew) {
  open();
  const Made first = flush();
  ASSERT_THAT(first, SizeIs(1));
  EXPECT_EQ(first[0].message->batch().process_begin().pid(), getpid());
  EXPECT_THAT(flush(), SizeIs(0));
}

TEST_F(SegmentSourceTest, FewEventsWaitForCompanyAsLongAsTheyAreToldTo) {
  open();
  emit(new_lane(), 3);
  source_->drain(now_);
  EXPECT_FALSE(source_->has_block(now_ + 25ms));
  source_->wait_for_company(25ms);
  EXPECT_FALSE(source_->has_block(now_ + 24ms));
  EXPECT_TRUE(source_->has_block(now_ + 25ms));
  source_->wait_for_company(1s);
  EXPECT_FALSE(source_->has_block(now_ + 999ms));
}

TEST_F(SegmentSourceTest, EventsThatAreNotTakenStayInTheRingAndCountsGoOn) {
  open();
  lanes::Lane& lane = new_lane();
  lanes::LaneWriter::add(new_counter(lane, 1)->casts, 3);
  emit(lane, 2000);  // the ring has room for 1024
  source_->drain(now_, false);
  const Made held = source_->make_batches(SegmentSource::End::kNone, now_);
  ASSERT_THAT(held, SizeIs(1));
  EXPECT_EQ(held[0].message->batch().event_blocks_size(), 0);
  EXPECT_EQ(held[0].message->batch().counters().casts(0), 3u);
  EXPECT_EQ(held[0].message->batch().lanes(0).events_dropped(), 976u);
  const Made taken = flush();
  ASSERT_THAT(taken, SizeIs(1));
  EXPECT_EQ(taken[0].message->batch().event_blocks(0).event_count(), 1024u);
}

TEST_F(SegmentSourceTest, PacksEventsWithTheirNumbersInTheLane) {
  open();
  lanes::Lane& lane = new_lane();
  emit(lane, 10);
  flush();
  emit(lane, 5);
  const Made made = flush();
  ASSERT_THAT(made, SizeIs(1));
  const v1::Events& block = made[0].message->batch().event_blocks(0);
  EXPECT_EQ(block.first_event(), 10u);
  EXPECT_EQ(block.event_count(), 5u);
  std::vector<lanes::Event> events;
  ASSERT_TRUE(wire::unpack(block.packed_events(), 5, &events).ok());
  EXPECT_LT(events[0].time, 60'000'000'000u) << "ns since the begin of the segment";
  EXPECT_EQ(made[0].message->batch().lanes(0).events_published(), 15u);
}

TEST_F(SegmentSourceTest, TellsOnlyCountersThatChanged) {
  open();
  lanes::Lane& lane = new_lane();
  lanes::LaneWriter::add(new_counter(lane, 1)->casts, 3);
  lanes::Counter* second = new_counter(lane, 2);
  lanes::LaneWriter::add(second->hits, 1);
  EXPECT_EQ(flush()[0].message->batch().counters().site_size(), 2);
  lanes::LaneWriter::add(second->hits, 1);
  const Made made = flush();
  ASSERT_EQ(made[0].message->batch().counters().site_size(), 1);
  EXPECT_EQ(made[0].message->batch().counters().site(0), 2u);
  EXPECT_EQ(made[0].message->batch().counters().cache_hits(0), 2u);
}

TEST_F(SegmentSourceTest, CountsThreadsWithoutALane) {
  open();
  flush();
  writer_->header().lost.casts.fetch_add(4);
  const Made made = flush();
  const v1::Counters& counters = made[0].message->batch().counters();
  ASSERT_EQ(counters.lane_size(), 1);
  EXPECT_EQ(counters.lane(0) + counters.site(0), 0u);
  EXPECT_EQ(counters.casts(0), 4u);
  EXPECT_EQ(made[0].message->batch().lanes_size(), 0);
  writer_->set_other_site(1);
  writer_->header().lost_other.casts.fetch_add(2);
  writer_->header().lost_events.fetch_add(6);
  const Made more = flush();
  ASSERT_EQ(more[0].message->batch().counters().lane_size(), 1) << "only what changed";
  EXPECT_EQ(more[0].message->batch().counters().site(0), 1u);
  EXPECT_EQ(more[0].message->batch().counters().casts(0), 2u);
  ASSERT_EQ(more[0].message->batch().lanes_size(), 1);
  EXPECT_EQ(more[0].message->batch().lanes(0).lane(), 0u);
  EXPECT_EQ(more[0].message->batch().lanes(0).events_dropped(), 6u);
  EXPECT_EQ(source_->summary().dropped, 6u);
  EXPECT_EQ(source_->totals().casts, 6u);
}

// The counts of deep steps travel like casts, and are none.
TEST_F(SegmentSourceTest, TellsWhatDeepStepsCountedAndAddsItToNoTotal) {
  open();
  lanes::Lane& lane = new_lane();
  lanes::LaneWriter::add(new_counter(lane, 1)->casts, 2);
  std::uint32_t number = 1;
  for (const lanes::DefinitionKind kind :
       {lanes::DefinitionKind::kOperatorUse, lanes::DefinitionKind::kFlow, lanes::DefinitionKind::kFact}) {
    const lanes::OperatorUseDefinition payload{};
    writer_->define(kind, ++number, &payload, sizeof payload);
    lanes::Counter* counter = writer_->new_counter(&lane, number);
    lanes::LaneWriter::add(counter->casts, 100);
    lanes::LaneWriter::add(counter->ticks, 70);
  }
  lanes::SegmentHeader& header = writer_->header();
  header.deep_steps.fetch_add(3);
  header.deep_operators.fetch_add(300);
  header.deep_ticks.fetch_add(4000);
  const Made made = flush();
  const v1::Batch& batch = made[0].message->batch();
  ASSERT_EQ(batch.counters().site_size(), 4);
  EXPECT_EQ(batch.counters().casts(3), 100u);
  EXPECT_EQ(batch.counters().cpu_ns(3), 70u);
  EXPECT_EQ(batch.gauges().deep_steps(), 3u);
  EXPECT_EQ(batch.gauges().deep_operators(), 300u);
  EXPECT_EQ(batch.gauges().deep_ns(), 4000u) << "the segment's clock counts ns here";
  EXPECT_EQ(source_->totals().casts, 2u);
  flush();
  EXPECT_EQ(source_->totals().casts, 2u);
}

// Counters of full messages and those of threads without a lane do not share a message.
TEST_F(SegmentSourceTest, NoMessageHasMoreCountersThanTheCollectorTakes) {
  open();
  lanes::Lane& lane = new_lane();
  for (std::uint32_t site = 1; site <= 65'536; ++site) lanes::LaneWriter::add(new_counter(lane, site)->casts, 1);
  writer_->header().lost.casts.fetch_add(4);
  int counters = 0;
  for (const SegmentSource::Made& made : flush()) {
    EXPECT_LE(made.message->batch().counters().site_size(), 65'536);
    counters += made.message->batch().counters().site_size();
  }
  EXPECT_EQ(counters, 65'537);
}

TEST_F(SegmentSourceTest, ALaneWithoutARingHasItsCounters) {
  open(256);
  lanes::Lane* lane = &new_lane();
  while (lane->ring_capacity != 0) lane = &new_lane();
  emit(*lane, 10);
  lanes::LaneWriter::add(lane->overflow.casts, 10);
  const Made made = flush();
  const v1::Batch& batch = made[0].message->batch();
  EXPECT_EQ(batch.event_blocks_size(), 0);
  EXPECT_EQ(batch.lanes(batch.lanes_size() - 1).events_dropped(), 10u);
  EXPECT_EQ(batch.counters().casts(0), 10u);
}

TEST_F(SegmentSourceTest, SplitsALotOfDefinitionsAndOfCounters) {
  open();
  const std::string text(60'000, 'x');
  for (std::uint32_t id = 1; id <= 100; ++id) writer_->define(lanes::DefinitionKind::kString, id, text.data(), 60'000);
  lanes::Lane& lane = new_lane();
  // Each counter is found by walking the chain of blocks, so appending is quadratic: not quite two messages' worth.
  for (std::uint32_t site = 1; site <= 70'000; ++site) lanes::LaneWriter::add(new_counter(lane, site)->casts, 1);
  int counters = 0;
  std::size_t definitions = 0;
  for (const SegmentSource::Made& made : flush()) {
    EXPECT_LE(made.message->batch().counters().site_size(), 65'536);
    EXPECT_LE(made.message->ByteSizeLong(), 4u << 20);
    counters += made.message->batch().counters().site_size();
    definitions += made.message->batch().definitions().size();
  }
  EXPECT_EQ(counters, 70'000);
  EXPECT_GE(definitions, 6'000'000u);
}

TEST_F(SegmentSourceTest, EventsThatCannotBeAreLeftOutEachByItself) {
  open();
  lanes::Lane& lane = new_lane();
  emit(lane, 10);
  auto* ring = reinterpret_cast<lanes::Event*>(&lane + 1);
  ring[0].kind = static_cast<lanes::EventKind>(200);
  ring[4].time = ~0ull;
  ring[5].bytes = 1ull << 63;
  lanes::LaneWriter::add(lane.overflow.casts, 7);
  const Made made = flush();
  const v1::Batch& batch = made[0].message->batch();
  ASSERT_EQ(batch.event_blocks_size(), 2);
  EXPECT_EQ(batch.event_blocks(0).first_event(), 1u);
  EXPECT_EQ(batch.event_blocks(0).event_count(), 3u);
  EXPECT_EQ(batch.event_blocks(1).first_event(), 6u);
  EXPECT_EQ(batch.event_blocks(1).event_count(), 4u);
  EXPECT_EQ(batch.lanes(0).events_published(), 10u);
  EXPECT_EQ(batch.counters().casts(0), 7u);
  EXPECT_NE(source_->damage().find("3 events in it cannot be, and are missing"), std::string::npos);
  for (const Receipt& receipt : made[0].receipts) source_->acknowledged(receipt);
  EXPECT_EQ(lane.tail.load(), 10u);
  EXPECT_EQ(source_->summary().acknowledged, 7u);
}

TEST_F(SegmentSourceTest, ACounterWithoutADefinitionIsDamageAndCountsCastsIfItMayBeASite) {
  open();
  lanes::Lane& lane = new_lane();
  lanes::LaneWriter::add(new_counter(lane, 1)->casts, 3);
  lanes::Counter* site = writer_->new_counter(&lane, 2);
  lanes::LaneWriter::add(site->casts, 20);
  lanes::LaneWriter::add(site->ticks, 900);
  lanes::LaneWriter::add(writer_->new_counter(&lane, 3)->casts, 100);  // took no time: a fact, or a flow
  for (int round = 0; round < 2; ++round) {
    const v1::Batch batch = round == 0 ? flush()[0].message->batch() : source_->introduction()[1]->batch();
    ASSERT_EQ(batch.counters().site_size(), 2) << round;
    EXPECT_EQ(batch.counters().casts(0), 3u);
    EXPECT_EQ(batch.counters().casts(1), 20u);
  }
  EXPECT_NE(source_->damage().find("some of its definitions are missing"), std::string::npos);
}

TEST_F(SegmentSourceTest, KeepsEventsInTheRingUntilTheyAreAcknowledged) {
  open(256);
  lanes::Lane& lane = new_lane();
  emit(lane, 100);
  const Made made = flush();
  EXPECT_EQ(lane.tail.load(), 0u);
  for (const Receipt& receipt : made[0].receipts) source_->acknowledged(receipt);
  EXPECT_EQ(lane.tail.load(), 100u);
  EXPECT_EQ(source_->summary().acknowledged, 100u);
}

TEST_F(SegmentSourceTest, ARingThatFillsUpGetsItsRoomAtOnce) {
  open(256);
  lanes::Lane& lane = new_lane();
  emit(lane, 200);
  source_->drain(now_);
  EXPECT_EQ(lane.tail.load(), 200u);
}

TEST_F(SegmentSourceTest, AnIntroductionHoldsAllDefinitionsAndNothingIsSkippedAfterwards) {
  open();
  writer_->define(lanes::DefinitionKind::kString, 1, "one", 3);
  const std::string first = flush()[0].message->batch().definitions();
  writer_->define(lanes::DefinitionKind::kString, 2, "two", 3);
  const std::vector<Outbox::Message> introduction = source_->introduction();
  EXPECT_TRUE(introduction[0]->batch().has_process_begin());
  EXPECT_EQ(introduction[0]->batch().definitions().substr(0, first.size()), first);
  EXPECT_EQ(introduction[0]->batch().sequence(), 0u);
  EXPECT_EQ(first + flush()[0].message->batch().definitions(), introduction[0]->batch().definitions());
}

// The collector may have been started again on a file that is behind, or on none.
TEST_F(SegmentSourceTest, AnIntroductionHoldsAllNumbersAndTheNextBatchHasTheLastWord) {
  open();
  lanes::Lane& lane = new_lane();
  lanes::LaneWriter::add(new_counter(lane, 1)->casts, 3);
  lanes::LaneWriter::add(lane.overflow.casts, 2);
  lanes::LaneWriter::add(lane.dropped, 7);
  writer_->header().lost.casts.fetch_add(4);
  const auto told_by_batches = [&] {
    v1::Batch all;
    for (const SegmentSource::Made& made : flush()) all.MergeFrom(made.message->batch());
    return all;
  };
  const v1::Batch first = told_by_batches();
  v1::Batch again;
  for (const Outbox::Message& message : source_->introduction()) again.MergeFrom(message->batch());
  EXPECT_EQ(again.counters().DebugString(), first.counters().DebugString());
  ASSERT_EQ(again.lanes_size(), 1);
  EXPECT_EQ(again.lanes(0).events_dropped(), 7u);
  EXPECT_TRUE(again.has_gauges());
  // Batches that were not acknowledged are sent once more in between; they are older.
  const v1::Batch last = told_by_batches();
  EXPECT_EQ(last.counters().DebugString(), first.counters().DebugString());
  EXPECT_EQ(last.lanes_size(), 1);
}

// Whoever reads them may be killed before they are acknowledged, and be started again.
TEST_F(SegmentSourceTest, EventsOfAProcessThatHasGoneStayInItsRingUntilTheyAreAcknowledged) {
  const auto taken_and_kept = [this](const std::function<void()>& end) {
    open(1024);
    emit(new_lane(), 1024);
    end();
    source_->drain(now_);
    return std::pair(source_->reader().taken(0), source_->reader().released(0));
  };
  EXPECT_EQ(taken_and_kept([] {}), (std::pair<std::uint64_t, std::uint64_t>(1024, 1024))) << "the process needs room";
  EXPECT_EQ(taken_and_kept([this] { writer_->mark_end(lanes::EndMark::kExited, 1); }),
            (std::pair<std::uint64_t, std::uint64_t>(1024, 0)));
  EXPECT_EQ(taken_and_kept([this] { source_->set_writer_gone(); }), (std::pair<std::uint64_t, std::uint64_t>(1024, 0)));
}

TEST_F(SegmentSourceTest, FewEventsWaitForCompanyAndCountersDoNot) {
  open(8192);
  lanes::Lane& lane = new_lane();
  lanes::Counter* counter = new_counter(lane, 1);
  const auto at = [this](std::chrono::milliseconds time) {
    source_->drain(now_ + time);
    return source_->make_batches(SegmentSource::End::kNone, now_ + time);
  };
  flush();
  emit(lane, 10);
  lanes::LaneWriter::add(counter->casts, 1);
  const Made early = at(0ms);
  ASSERT_THAT(early, SizeIs(1));
  EXPECT_EQ(early[0].message->batch().event_blocks_size(), 0);
  EXPECT_EQ(early[0].message->batch().counters().casts(0), 1u);
  emit(lane, 10);
  const Made late = at(1000ms);
  EXPECT_EQ(late[0].message->batch().event_blocks(0).event_count(), 20u);
  emit(lane, 4096);
  EXPECT_EQ(at(1001ms)[0].message->batch().event_blocks(0).event_count(), 4096u) << "enough for a good block";
}

TEST_F(SegmentSourceTest, EventsThatAreAllAlikeComeInBatchesThatACollectorTakes) {
  open(256);
  std::vector<lanes::Lane*> all(40);
  for (lanes::Lane*& lane : all) lane = &new_lane();
  for (int sent = 0; sent < 16384; sent += 128) {
    for (lanes::Lane* const lane : all) emit(*lane, 128, 0);
    source_->drain(now_);
  }
  std::vector<std::uint64_t> events;
  for (const SegmentSource::Made& made : flush()) {
    events.push_back(0);
    for (const v1::Events& block : made.message->batch().event_blocks()) events.back() += block.event_count();
  }
  EXPECT_THAT(events, testing::ElementsAre(33 * 16384, 7 * 16384));
}

// What is told again after a reconnect, and what begins a spool, is read from the segment once more.
TEST_F(SegmentSourceTest, TextsAreRedactedEachTimeThatTheyAreTold) {
  redaction_ = redaction::Redaction::of("secret").value();
  open();
  constexpr std::string_view kText = "/home/secret/train.py";
  writer_->define(lanes::DefinitionKind::kString, 1, kText.data(), kText.size());
  const std::string first = flush()[0].message->batch().definitions();
  EXPECT_THAT(first, testing::HasSubstr("/home/[redacted]/train.py"));
  EXPECT_THAT(first, testing::Not(testing::HasSubstr("secret")));
  EXPECT_EQ(source_->introduction()[0]->batch().definitions(), first);
}

TEST_F(SegmentSourceTest, TellsTheEndLast) {
  open();
  emit(new_lane(), 3);
  writer_->mark_end(lanes::EndMark::kExited, 7 + 1);
  source_->set_end(ProcessEnd::kExited);
  const Made made = flush(SegmentSource::End::kSeen);
  ASSERT_THAT(made, SizeIs(1));
  EXPECT_EQ(made[0].message->batch().process_end().end_kind(), v1::PROCESS_END_KIND_EXITED);
  EXPECT_EQ(made[0].message->batch().process_end().exit_status(), 7);
  EXPECT_TRUE(made[0].receipts.back().last);
}

}  // namespace
}  // namespace castscope::relay
