#include "server/timeline/timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "server/timeline/testing/test_events.h"
#include "server/timeline/testing/test_oracle.h"
#include "server/timeline/testing/test_picture.h"

namespace castscope::timeline {
namespace {

using Site = TestNumbers::SiteId;
using Region = TestNumbers::RegionId;

class TimelineTest : public ::testing::Test {
 protected:
  std::uint32_t track(TrackKind kind, std::uint32_t depth = 0, std::uint32_t process = 1) const {
    for (const Track& track : timeline_.tracks()) {
      if (track.kind == kind && track.depth == depth && track.process == process) return track.id;
    }
    return 0;
  }
  // "down@10-15 cache_hit@20": all events of a track, open ones with a plus.
  std::string shown(TrackKind kind, std::uint32_t depth = 0) const {
    std::string text;
    NeighbourQuery query{.at = -1, .filter = {.tracks = {track(kind, depth)}}};
    while (const auto found = timeline_.neighbour(query)) {
      text.append(text.empty() ? "" : " ").append(name(found->shade.kind)).append("@");
      text += std::to_string(found->begin);
      if (found->end > found->begin) text += "-" + std::to_string(found->end);
      if (found->open) text += "+";
      query.at = found->begin;
    }
    return text;
  }
  ReadPicture picture(std::int64_t from, std::int64_t to, std::uint32_t pixels) const {
    return ReadPicture(timeline_.picture({.from = from, .to = to, .pixels = pixels, .counters = true}));
  }

  Timeline timeline_;
  Feeder feed_{timeline_};
};

TEST_F(TimelineTest, CastsAreIntervalsHitsAndPassesInstants) {
  feed_.cast(10, 15, Site::kDownSite)
      .hit(20, Site::kWeightSite)
      .pass(25, Site::kWeightSite)
      .cast(30, 31, Site::kUpSite);
  feed_.cast(40, 44, Site::kSameSite);
  EXPECT_EQ(shown(TrackKind::kCasts), "down@10-15 cache_hit@20 pass_through@25 up@30-31 same@40-44");
}

// Two lanes take turns, and their events are fed lane by lane.
TEST_F(TimelineTest, StepsAndCacheFollowTimeWhicheverLaneIsToldFirst) {
  const TestNumbers numbers;
  const auto kept = [](std::int64_t time) {
    lanes::Event made = event(lanes::EventKind::kCast, time, Site::kWeightSite);
    made.bytes = 100;
    made.flags = lanes::kFlagKept;
    return made;
  };
  const auto step = [](std::int64_t time, std::uint32_t number) {
    lanes::Event made = event(lanes::EventKind::kStep, time);
    made.step = number;
    return made;
  };
  lanes::Event cleared = event(lanes::EventKind::kCacheClear, 45);
  cleared.bytes = 300;
  const lanes::Event first[] = {step(10, 1), kept(15), step(30, 3), kept(35), cleared, step(60, 5)};
  const lanes::Event second[] = {step(20, 2), kept(25), step(40, 4)};
  Timeline timeline;
  timeline.feed(numbers, store::ProcessId(1), 1, first);
  timeline.settle(store::ProcessId(1), 19);  // nothing is known about the other lane yet
  EXPECT_EQ(timeline.tracks().size(), 3u);   // casts, marks, steps
  timeline.feed(numbers, store::ProcessId(1), 2, second);
  timeline.settle();
  const auto steps = timeline.tracks().front();
  ASSERT_EQ(steps.kind, TrackKind::kSteps);
  NeighbourQuery query{.at = -1, .filter = {.tracks = {steps.id}}};
  std::vector<std::pair<std::uint32_t, std::int64_t>> told;
  while (const auto found = timeline.neighbour(query)) {
    told.emplace_back(found->subject, found->begin);
    query.at = found->begin;
  }
  EXPECT_THAT(told, ::testing::ElementsAre(std::pair(1, 10), std::pair(2, 20), std::pair(3, 30), std::pair(4, 40),
                                           std::pair(5, 60)));
  const ReadPicture seen(timeline.picture({.from = 0, .to = 64, .pixels = 64, .counters = true}));
  const ReadCounter& counter = seen.counters.at(1);
  EXPECT_EQ(counter.top, 300);
  const auto bytes = [&](std::size_t at) { return counter.values.at(at) * counter.top / kTop; };
  EXPECT_NEAR(bytes(20), 100, 1);
  EXPECT_NEAR(bytes(27), 200, 1);
  EXPECT_NEAR(bytes(36), 300, 1);
  EXPECT_NEAR(bytes(50), 0, 1);
}

TEST_F(TimelineTest, OfNestedRegionsTheInnermostIsShown) {
  feed_.enter(10, Region::kOnRegion).enter(20, Region::kOffRegion).exit(30, Region::kOffRegion);
  feed_.exit(40, Region::kOnRegion);
  EXPECT_EQ(shown(TrackKind::kRegions), "region@10-20 region_off@20-30 region@30-40");
  const Summary summary = timeline_.summary({.from = 0, .to = 100});
  EXPECT_THAT(summary.kinds,
              testing::ElementsAre(KindSum{ShadeKind::kRegion, 1, 20, 0}, KindSum{ShadeKind::kRegionOff, 1, 10, 0}));
}

TEST_F(TimelineTest, AnEndWhoseBeginIsNotKnownEndsNothing) {
  feed_.exit(5, Region::kOnRegion).enter(10, Region::kOnRegion).exit(20, Region::kOffRegion).hit(30, Site::kWeightSite);
  EXPECT_EQ(shown(TrackKind::kRegions), "region@10-30+");
}

TEST_F(TimelineTest, WhatIsOpenGoesOnToTheNewestTimeOfAnyLane) {
  feed_.step(5, 1).enter(10, Region::kOnRegion).lane(2).hit(90, Site::kWeightSite);
  EXPECT_EQ(shown(TrackKind::kRegions), "region@10-90+");
  EXPECT_EQ(shown(TrackKind::kSteps), "step@5-90+");
}

TEST_F(TimelineTest, AtAGapWhatIsOpenEndsAtTheLastTimeTold) {
  feed_.step(5, 1).enter(10, Region::kOnRegion).hit(30, Site::kWeightSite).lane(2).hit(50, Site::kWeightSite);
  timeline_.gap(store::ProcessId(1));
  feed_.lane(1).hit(90, Site::kWeightSite);
  EXPECT_EQ(shown(TrackKind::kRegions), "region@10-30");
  EXPECT_EQ(shown(TrackKind::kSteps), "step@5-50");
}

TEST_F(TimelineTest, TheEndOfOneProcessLeavesAnotherOpen) {
  Feeder other(timeline_, store::ProcessId(2));
  feed_.step(5, 1).hit(50, Site::kWeightSite);
  other.step(6, 1);
  timeline_.end(store::ProcessId(1));
  other.hit(70, Site::kWeightSite);
  EXPECT_EQ(shown(TrackKind::kSteps), "step@5-50");
  EXPECT_TRUE(timeline_.event_at(track(TrackKind::kSteps, 0, 2), 60, 0)->open);
  timeline_.end();
  EXPECT_FALSE(timeline_.event_at(track(TrackKind::kSteps, 0, 2), 60, 0)->open);
}

TEST_F(TimelineTest, AThreadThatTakesTheLaneEndsItsRegions) {
  feed_.enter(10, Region::kOnRegion).mark(lanes::EventKind::kThread, 20).hit(30, Site::kWeightSite);
  EXPECT_EQ(shown(TrackKind::kRegions), "region@10-20");
}

TEST_F(TimelineTest, AStepLastsUntilTheNext) {
  feed_.step(10, 1).step(20, 2).step(30, 3);
  EXPECT_EQ(shown(TrackKind::kSteps), "step@10-20 step@20-30 step@30+");
}

TEST_F(TimelineTest, NothingAnnouncesTheFirstStep) {
  feed_.hit(10, Site::kWeightSite, 0).lane(2).hit(15, Site::kWeightSite, 0).lane(1).step(20, 1);
  EXPECT_EQ(shown(TrackKind::kSteps), "step@10-20 step@20+");
  EXPECT_EQ(timeline_.event_at(track(TrackKind::kSteps), 12, 0)->subject, 0u);
}

TEST_F(TimelineTest, StepsAreDeepAsLongAsOperatorsAreLookedAt) {
  feed_.step(10, 1).deep(11).operate(12, 14, 1, 0, 1).step(20, 2).operate(22, 24, 1, 0, 2).operate(25, 26, 1, 0, 2);
  feed_.step(30, 3).deep(31, false).operate(32, 33, 1, 0, 3).step(40, 4).operate(42, 43, 1, 0, 4).step(50, 5);
  EXPECT_EQ(shown(TrackKind::kSteps), "step_deep@10-20 step_deep@20-30 step@30-40 step@40-50 step@50+");
}

TEST_F(TimelineTest, AStepIsDeepIfOperatorsAreLookedAtInPartOfIt) {
  feed_.step(10, 1).operate(11, 12, 1, 0, 1).deep(13).operate(14, 15, 1, 0, 1).step(20, 2);
  EXPECT_EQ(shown(TrackKind::kSteps), "step_deep@10-20 step@20+");
}

TEST_F(TimelineTest, WhatBeginsWhereAnotherEndsIsMeant) {
  feed_.enter(10, Region::kOnRegion)
      .enter(20, Region::kOffRegion)
      .exit(30, Region::kOffRegion)
      .exit(40, Region::kOnRegion);
  const std::uint32_t regions = track(TrackKind::kRegions);
  EXPECT_EQ(timeline_.event_at(regions, 20, 0)->subject, static_cast<std::uint32_t>(Region::kOffRegion));
  EXPECT_EQ(timeline_.event_at(regions, 30, 0)->begin, 30);
  EXPECT_EQ(timeline_.event_at(regions, 40, 0), std::nullopt);
  EXPECT_EQ(timeline_.event_at(regions, 40, 5)->begin, 30);
}

TEST_F(TimelineTest, ARegionThatIsInterruptedIsOneWhenWholeOnesAreWanted) {
  feed_.enter(10, Region::kOnRegion)
      .enter(20, Region::kOffRegion)
      .exit(30, Region::kOffRegion)
      .exit(40, Region::kOnRegion);
  const NeighbourQuery from{.at = 20};
  EXPECT_EQ(timeline_.neighbour(from)->begin, 30);
  EXPECT_EQ(timeline_.neighbour({.at = 20, .whole = true}), std::nullopt);
  EXPECT_EQ(timeline_.neighbour({.at = 40, .next = false, .whole = true})->begin, 20);
}

TEST_F(TimelineTest, MarksAreInstantsWithTheirFact) {
  feed_.clear(10, 64).mark(lanes::EventKind::kOptimizer, 20, 7).mark(lanes::EventKind::kScaler, 30);
  feed_.mark(lanes::EventKind::kBackward, 40, 8).mark(lanes::EventKind::kValues, 50, 3);
  EXPECT_EQ(shown(TrackKind::kMarks), "cache_clear@10 optimizer_step@20 scaler@30 backward@40 values@50");
  EXPECT_EQ(timeline_.event_at(track(TrackKind::kMarks), 20, 0)->subject, 7u);
  EXPECT_EQ(timeline_.event_at(track(TrackKind::kMarks), 50, 0)->subject, 0u);
  EXPECT_EQ(timeline_.event_at(track(TrackKind::kMarks), 10, 0)->bytes, 64u);
}

TEST_F(TimelineTest, OperatorsAreToldWhenTheyEndAndKeepTheirDepth) {
  feed_.cast(12, 14, Site::kDownSite).operate(11, 15, 1, 1).operate(16, 18, 2, 1).operate(10, 20, 1);
  EXPECT_EQ(shown(TrackKind::kOperators), "operator@10-20");
  EXPECT_EQ(shown(TrackKind::kOperators, 1), "operator@11-15 operator@16-18");
  EXPECT_EQ(timeline_.event_at(track(TrackKind::kOperators, 1), 17, 0)->shade.dtype, kFloat);
}

TEST_F(TimelineTest, TimesNeverGoBackWithinALane) {
  feed_.cast(10, 40, Site::kDownSite).hit(20, Site::kWeightSite).lane(2).hit(5, Site::kWeightSite);
  EXPECT_EQ(shown(TrackKind::kCasts), "down@10-40 cache_hit@40");
}

TEST_F(TimelineTest, TimesCountFromTheBeginOfTheProcess) {
  timeline_.process_begin(store::ProcessId(1), 1000);
  feed_.hit(5, Site::kWeightSite);
  EXPECT_EQ(shown(TrackKind::kCasts), "cache_hit@1005");
  EXPECT_EQ(timeline_.progress().begin, 1005);
}

TEST_F(TimelineTest, TimesThatNobodyCanMeanStayInBounds) {
  lanes::Event late =
      event(lanes::EventKind::kCast, INT64_MAX, TestNumbers::local(store::ProcessId(1), Site::kDownSite));
  late.duration = UINT32_MAX;
  late.bytes = UINT64_MAX;
  timeline_.process_begin(store::ProcessId(1), INT64_MAX);
  feed_.feed(late).feed(event(lanes::EventKind::kStep, INT64_MAX)).feed(late);
  EXPECT_LE(timeline_.progress().newest, kLatestTime);
  picture(INT64_MIN, INT64_MAX, 4096);
  picture(INT64_MAX, INT64_MIN, 0);
  timeline_.summary({.from = INT64_MIN, .to = INT64_MAX});
  timeline_.event_at(1, INT64_MAX, INT64_MAX);
  timeline_.event_at(1, INT64_MIN, INT64_MAX);
}

TEST_F(TimelineTest, WhatANumberMeansMayNotBeKnown) {
  feed_.cast(10, 12, 99).hit(20, 99).enter(30, 99).exit(40, 99).operate(41, 42, 99);
  EXPECT_EQ(shown(TrackKind::kCasts), "same@10-12 cache_hit@20");
  EXPECT_EQ(timeline_.event_at(track(TrackKind::kCasts), 10, 0)->subject, 0u);
  EXPECT_EQ(shown(TrackKind::kRegions), "region@30-40");
  EXPECT_EQ(shown(TrackKind::kOperators), "operator@41-42");
}

TEST_F(TimelineTest, TracksAreInTheOrderTheyAreShown) {
  feed_.lane(2)
      .cast(1, 2, 1)
      .lane(1)
      .operate(5, 6, 1, 1)
      .operate(4, 7, 1)
      .cast(8, 9, 1)
      .enter(10, 1)
      .clear(11, 1)
      .step(12, 1);
  std::string order;
  for (const Track& track : timeline_.tracks()) {
    order += std::to_string(track.lane) + std::string(name(track.kind)) + std::to_string(track.depth) + " ";
  }
  EXPECT_EQ(order, "0steps0 1marks0 1regions0 1operators0 1operators1 1casts0 2casts0 ");
}

TEST_F(TimelineTest, TheNearestEventIsFoundWithinReach) {
  feed_.step(5, 3).enter(8, Region::kHalfRegion).cast(10, 20, Site::kDownSite, 64, true).cast(30, 40, Site::kUpSite);
  const std::uint32_t casts = track(TrackKind::kCasts);
  const auto found = timeline_.event_at(casts, 24, 4);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->begin, 10);
  EXPECT_EQ(found->bytes, 64u);
  EXPECT_TRUE(found->kept);
  EXPECT_EQ(found->step, 3u);
  EXPECT_EQ(found->region, Region::kHalfRegion);
  EXPECT_EQ(timeline_.event_at(casts, 26, 4)->begin, 30);
  EXPECT_FALSE(timeline_.event_at(casts, 24, 3));
  EXPECT_FALSE(timeline_.event_at(casts + 99, 24, 3));
}

TEST_F(TimelineTest, NeighboursOfASubjectOrOfWhatIsFound) {
  for (int i = 0; i < 5000; ++i) feed_.cast(i * 10, i * 10 + 5, i % 1000 == 999 ? Site::kUpSite : Site::kDownSite);
  const std::uint32_t casts = track(TrackKind::kCasts);
  NeighbourQuery query{.at = 9990, .subject = Site::kUpSite, .filter = {.tracks = {casts}}};
  EXPECT_EQ(timeline_.neighbour(query)->begin, 19990);
  query.next = false;
  query.at = 19990;
  EXPECT_EQ(timeline_.neighbour(query)->begin, 9990);
  Selection found;
  found.sites = {false, false, true};
  query = {.at = 20000, .filter = {.found = &found}};
  EXPECT_EQ(timeline_.neighbour(query)->begin, 29990);
  query.at = 49990;
  EXPECT_FALSE(timeline_.neighbour(query));
}

TEST_F(TimelineTest, TheCacheHoldsWhatWasKeptUntilItIsCleared) {
  feed_.cast(100, 200, 1, 1000, true).cast(200, 300, 1, 500, false).cast(300, 400, 1, 3000, true).clear(600, 4000);
  feed_.cast(700, 800, 1, 2000, true).hit(1000, 4);
  const ReadPicture seen = picture(0, 1024, 1024 / 64);
  ASSERT_EQ(seen.counters.size(), 1u);
  const ReadCounter& counter = seen.counters.at(1);
  EXPECT_EQ(counter.top, 4000);
  const auto bytes = [&](std::int64_t time) {
    return static_cast<int>(counter.values[static_cast<std::size_t>(time / 64)] * counter.top / kTop + 0.5);
  };
  EXPECT_EQ(bytes(70), 0);
  EXPECT_EQ(bytes(260), 1000);
  EXPECT_EQ(bytes(450), 4000);
  EXPECT_EQ(bytes(600), 4000);
  EXPECT_EQ(bytes(650), 0);
  EXPECT_EQ(bytes(900), 2000);
}

TEST_F(TimelineTest, AfterAGapTheCacheIsNotKnownUntilItIsCleared) {
  feed_.cast(100, 200, 1, 1000, true);
  timeline_.gap(store::ProcessId(1));
  feed_.cast(300, 400, 1, 1000, true).clear(600, 5000).hit(1000, 4);
  const ReadPicture seen = picture(0, 1024, 1024 / 64);
  EXPECT_EQ(seen.counters.at(1).values[400 / 64], kNotKnown);
  EXPECT_EQ(seen.counters.at(1).values[600 / 64], kTop);
  EXPECT_EQ(seen.counters.at(1).values[700 / 64], 0);
}

TEST_F(TimelineTest, TheHeaderTellsHowFarThePictureIs) {
  feed_.cast(100, 200, 1);
  const std::string text = timeline_.picture({.from = 0,
                                              .to = 1000,
                                              .pixels = 10,
                                              .live = true,
                                              .loading = true,
                                              .now = 500,
                                              .definitions = 3,
                                              .judgement = 4});
  const PictureHeader header = ReadPicture(text).header;
  EXPECT_EQ(header.newest, 200);
  EXPECT_EQ(header.behind_ns, 300);
  EXPECT_EQ(header.events, 1u);
  EXPECT_EQ(header.flags, kLive | kLoading);
  EXPECT_EQ(header.definitions, 3u);
  EXPECT_EQ(header.judgement, 4u);
  const std::uint64_t before = header.revision;
  feed_.hit(300, 4);
  EXPECT_GT(picture(0, 1000, 10).header.revision, before);
}

TEST_F(TimelineTest, OnlyTheTracksAskedForAreDrawn) {
  feed_.enter(5, 1).cast(10, 20, 1);
  const std::uint32_t casts = track(TrackKind::kCasts);
  const ReadPicture seen(timeline_.picture({.from = 0, .to = 100, .pixels = 10, .filter = {.tracks = {casts}}}));
  EXPECT_THAT(seen.tracks, testing::ElementsAre(testing::Key(casts)));
}

TEST(ShadesOfTimeline, RunOutIntoPlainOnesOfTheSameKind) {
  Timeline timeline;
  class Many final : public Numbers {
   public:
    const store::Site* site(store::ProcessId, std::uint32_t local) const override {
      site_.id = store::SiteId(local);
      site_.to = static_cast<std::uint8_t>(local % 46);
      site_.cause = static_cast<lanes::Cause>(local / 46 % 10);
      return &site_;
    }
    const store::Region* region(store::ProcessId, std::uint32_t) const override { return nullptr; }
    const store::OperatorUse* operator_use(store::ProcessId, std::uint32_t) const override { return nullptr; }
    KernelLook kernel(store::ProcessId, std::uint32_t) const override { return {}; }
    store::FactId fact(store::ProcessId, std::uint32_t) const override { return {}; }
    mutable store::Site site_;
  } numbers;
  for (std::uint32_t i = 1; i <= 460; ++i) {
    const lanes::Event made = event(lanes::EventKind::kHit, i, i);
    timeline.feed(numbers, store::ProcessId(1), 1, std::span(&made, 1));
    timeline.settle();
  }
  EXPECT_LE(timeline.shades().size(), 255u);
  const auto last = timeline.event_at(1, 460, 0);
  EXPECT_EQ(last->shade.kind, ShadeKind::kHit);
  EXPECT_EQ(last->shade.dtype, kNoDtype);
}

TEST(ThreadsOfTimeline, AskWhileOneFeeds) {
  Timeline timeline({.bytes = 200'000});
  std::atomic<bool> done = false;
  std::vector<std::thread> askers;
  for (int i = 0; i < 2; ++i) {
    askers.emplace_back([&] {
      std::uint64_t revision = 0;
      do {
        const ReadPicture seen(timeline.picture({.from = 0, .to = 1'000'000, .pixels = 300, .counters = true}));
        EXPECT_GE(seen.header.revision, revision);
        revision = seen.header.revision;
        timeline.summary({.from = 1000, .to = 500'000});
        timeline.neighbour({.at = 1000});
        timeline.tracks();
        timeline.event_at(1, 5000, 100);
      } while (!done);
    });
  }
  Chance chance(timeline, store::ProcessId(1), 5);
  for (int i = 0; i < 30; ++i) chance.go_on(static_cast<std::uint32_t>(i % 3 + 1), 1000);
  done = true;
  for (std::thread& asker : askers) asker.join();
  EXPECT_GE(timeline.progress().events, 30'000u);
}

}  // namespace
}  // namespace castscope::timeline
