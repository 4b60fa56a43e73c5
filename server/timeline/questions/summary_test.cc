#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "server/timeline/testing/test_oracle.h"
#include "server/timeline/testing/test_picture.h"

namespace castscope::timeline {
namespace {

struct Due {
  std::map<ShadeKind, KindSum> kinds;
  std::map<std::uint8_t, ShadeSum> shades;
  std::map<std::tuple<TrackKind, std::uint32_t, ShadeKind>, SubjectSum> rows;
};

// The cause of all sites of the test is autocast: kind and dtype tell the shades of a track apart.
std::uint8_t shade_of(const Timeline& timeline, const Plain& one) {
  for (const Shade& shade : timeline.shades()) {
    if (shade.track == one.track && shade.kind == one.kind && shade.dtype == one.dtype) return shade.id;
  }
  return 0;
}

Due due(const Timeline& timeline, const std::vector<Plain>& all, std::int64_t from, std::int64_t to) {
  Due due;
  for (const Plain& one : all) {
    if (!one.touches(from, to)) continue;
    const auto ns =
        static_cast<std::uint64_t>(std::max<std::int64_t>(std::min(one.end, to) - std::max(one.begin, from), 0));
    KindSum& kind = due.kinds[one.kind];
    kind.kind = one.kind;
    kind.count += one.continued ? 0 : 1, kind.ns += ns, kind.bytes += one.bytes;
    ShadeSum& shade = due.shades[shade_of(timeline, one)];
    shade.shade = shade_of(timeline, one);
    shade.count += one.continued ? 0 : 1, shade.ns += ns, shade.bytes += one.bytes;
    if (one.track == TrackKind::kSteps) continue;
    SubjectSum& row = due.rows[{one.track, one.subject, one.kind}];
    row.track = one.track, row.subject = one.subject, row.kind = one.kind;
    row.count += one.continued ? 0 : 1, row.ns += ns, row.bytes += one.bytes;
  }
  return due;
}

template <typename Map>
auto values(const Map& map) {
  std::vector<typename Map::mapped_type> all;
  for (const auto& [key, value] : map) all.push_back(value);
  return all;
}

class SummaryTest : public ::testing::TestWithParam<std::uint32_t> {
 protected:
  void happen(Timeline& timeline, Chance& chance, int batches) {
    for (int i = 0; i < batches; ++i) chance.go_on(random_() % 3 + 1, random_() % 2000 + 1);
    newest_ = timeline.progress().newest;
  }
  std::pair<std::int64_t, std::int64_t> window() {
    const auto any = [&] { return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(newest_ + 1)); };
    const std::int64_t a = any(), b = any();
    return {std::min(a, b), std::max(a, b) + 1};
  }
  std::mt19937_64 random_{GetParam()};
  std::int64_t newest_ = 0;
};

TEST_P(SummaryTest, IsThatOfAllEventsInTheWindow) {
  Timeline timeline;
  Chance chance(timeline, store::ProcessId(1), GetParam());
  happen(timeline, chance, 60);
  const std::vector<Plain> all = chance.all(newest_);
  for (int i = 0; i < 30; ++i) {
    const auto [from, to] = window();
    const Summary summary = timeline.summary({.from = from, .to = to});
    const Due expected = due(timeline, all, from, to);
    EXPECT_TRUE(summary.exact);
    ASSERT_EQ(summary.kinds, values(expected.kinds));
    ASSERT_EQ(summary.shades, values(expected.shades));
    ASSERT_EQ(summary.rows, values(expected.rows));
    const Summary kinds = timeline.summary({.from = from, .to = to, .rows = false});
    ASSERT_EQ(kinds.kinds, values(expected.kinds));
    ASSERT_EQ(kinds.shades, values(expected.shades));
    ASSERT_TRUE(kinds.rows.empty());
  }
}

TEST_P(SummaryTest, NeighboursAndNearestAreThoseOfAScan) {
  Timeline timeline;
  Chance chance(timeline, store::ProcessId(1), GetParam());
  happen(timeline, chance, 20);
  const std::vector<Plain> all = chance.all(newest_);
  for (int i = 0; i < 60; ++i) {
    const std::int64_t at = window().first;
    std::optional<std::int64_t> next, previous;
    for (const Plain& one : all) {
      if (one.begin > at && (!next || one.begin < *next)) next = one.begin;
      if (one.begin < at && (!previous || one.begin > *previous)) previous = one.begin;
    }
    const auto after = timeline.neighbour({.at = at}), before = timeline.neighbour({.at = at, .next = false});
    ASSERT_EQ(after ? std::optional(after->begin) : std::nullopt, next);
    ASSERT_EQ(before ? std::optional(before->begin) : std::nullopt, previous);
  }
}

TEST(EventAt, AnEventOfOneShadeIsTheNearestOfItsShade) {
  Timeline timeline;
  Feeder feeder(timeline);
  feeder.cast(10, 20, TestNumbers::kDownSite).cast(30, 40, TestNumbers::kUpSite);
  const std::uint8_t up = timeline.event_at(1, 30, 0)->shade.id;
  EXPECT_EQ(timeline.event_at(1, 21, 9)->begin, 10);
  EXPECT_EQ(timeline.event_at(1, 21, 9, up)->begin, 30);
  EXPECT_FALSE(timeline.event_at(1, 21, 8, up));
}

// The budget holds only a part of all events.
TEST_P(SummaryTest, WithLittleMemoryTheTotalsStay) {
  Timeline timeline({.bytes = 400'000});
  Chance chance(timeline, store::ProcessId(1), GetParam());
  happen(timeline, chance, 100);
  const Summary summary = timeline.summary({.from = 0, .to = newest_ + 1});
  const Due expected = due(timeline, chance.all(newest_), 0, newest_ + 1);
  EXPECT_EQ(summary.kinds, values(expected.kinds));
  EXPECT_EQ(summary.shades, values(expected.shades));
  EXPECT_EQ(timeline.summary({.from = 0, .to = newest_ + 1, .rows = false}).kinds, summary.kinds);
}

TEST_P(SummaryTest, TheBudgetHoldsAndTheNewestEventsAreStillWhole) {
  constexpr std::size_t kBudget = 6'000'000;
  Timeline timeline({.bytes = kBudget});
  Chance chance(timeline, store::ProcessId(1), GetParam());
  happen(timeline, chance, 600);
  EXPECT_LE(timeline.progress().memory_bytes, kBudget + 64'000);  // and the tracks themselves
  EXPECT_GE(timeline.progress().memory_bytes, kBudget / 2);
  const auto flags = [&](std::int64_t from, std::int64_t to) {
    return ReadPicture(timeline.picture({.from = from, .to = to, .pixels = 800})).header.flags;
  };
  EXPECT_EQ(flags(newest_ - newest_ / 1000, newest_), 0u);
  EXPECT_EQ(flags(0, newest_), kCoarse);
}

TEST_P(SummaryTest, WithLittleMemoryNoColumnIsMissed) {
  Timeline timeline({.bytes = 400'000});
  Chance chance(timeline, store::ProcessId(1), GetParam());
  happen(timeline, chance, 100);
  std::map<std::uint32_t, Track> tracks;
  for (const Track& track : timeline.tracks()) tracks[track.id] = track;
  const std::vector<Plain> all = chance.all(newest_);
  bool coarse = false;
  for (int i = 0; i < 20; ++i) {
    const auto [from, to] = window();
    const ReadPicture seen(timeline.picture({.from = from, .to = to, .pixels = 800}));
    coarse = coarse || (seen.header.flags & kCoarse);
    const std::int64_t end = seen.header.first + (static_cast<std::int64_t>(seen.header.columns) << seen.header.k);
    for (const auto& [id, track] : tracks) {
      for (const Plain& one : all) {
        if (place_of(track) != one.place()) continue;
        if (!one.touches(seen.header.first, end)) continue;
        const std::int64_t time = std::max(one.begin, seen.header.first);
        ASSERT_NE(seen.value(id, static_cast<std::size_t>((time - seen.header.first) >> seen.header.k)), 0);
      }
    }
  }
  EXPECT_TRUE(coarse);
}

INSTANTIATE_TEST_SUITE_P(Seeds, SummaryTest, ::testing::Range(10u, 14u));

}  // namespace
}  // namespace castscope::timeline
