// How events go from the rings of a segment into batches, and when a ring gets its room back.
#include "server/relay/segment_source_test.h"

namespace castscope::relay {
namespace {

using SegmentEventsTest = SegmentSourceTest;

TEST_F(SegmentEventsTest, FewEventsWaitForCompanyAsLongAsTheyAreToldTo) {
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

TEST_F(SegmentEventsTest, EventsThatAreNotTakenStayInTheRingAndCountsGoOn) {
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

TEST_F(SegmentEventsTest, PacksEventsWithTheirNumbersInTheLane) {
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

TEST_F(SegmentEventsTest, KeepsEventsInTheRingUntilTheyAreAcknowledged) {
  open(256);
  lanes::Lane& lane = new_lane();
  emit(lane, 100);
  const Made made = flush();
  EXPECT_EQ(lane.tail.load(), 0u);
  for (const Receipt& receipt : made[0].receipts) source_->acknowledged(receipt);
  EXPECT_EQ(lane.tail.load(), 100u);
  EXPECT_EQ(source_->summary().acknowledged, 100u);
}

TEST_F(SegmentEventsTest, ARingThatFillsUpGetsItsRoomAtOnce) {
  open(256);
  lanes::Lane& lane = new_lane();
  emit(lane, 200);
  source_->drain(now_);
  EXPECT_EQ(lane.tail.load(), 200u);
}

// Whoever reads them may be killed before they are acknowledged, and be started again.
TEST_F(SegmentEventsTest, EventsOfAProcessThatHasGoneStayInItsRingUntilTheyAreAcknowledged) {
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

TEST_F(SegmentEventsTest, FewEventsWaitForCompanyAndCountersDoNot) {
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

TEST_F(SegmentEventsTest, EventsThatAreAllAlikeComeInBatchesThatACollectorTakes) {
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

}  // namespace
}  // namespace castscope::relay
