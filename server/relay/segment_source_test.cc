#include "server/relay/segment_source_test.h"

namespace castscope::relay {
namespace {

TEST_F(SegmentSourceTest, IntroducesItselfOnceAndSaysNothingWhenNothingIsNew) {
  open();
  const Made first = flush();
  ASSERT_THAT(first, SizeIs(1));
  EXPECT_EQ(first[0].message->batch().process_begin().pid(), getpid());
  EXPECT_THAT(flush(), SizeIs(0));
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
