#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/timeline/testing/test_oracle.h"

namespace castscope::timeline {
namespace {

// The same, of a list of all events.
struct DueDurations {
  std::vector<std::int64_t> sorted;
  std::uint64_t ns = 0, window_ns = 0, bytes = 0, steps = 0, steps_ns = 0;
};

DueDurations due_durations(const std::vector<Plain>& all, const DurationQuery& query) {
  DueDurations due;
  for (const Plain& one : all) {
    if (!one.touches(query.from, query.to)) continue;
    const auto within = static_cast<std::uint64_t>(
        std::max<std::int64_t>(std::min(one.end, query.to) - std::max(one.begin, query.from), 0));
    if (one.track == TrackKind::kSteps) ++due.steps, due.steps_ns += within;
    if (one.track != query.track || one.kind == ShadeKind::kHit || one.kind == ShadeKind::kPass || one.open) continue;
    if (query.subject != 0 && one.subject != query.subject) continue;
    due.sorted.push_back(one.end - one.begin);
    due.ns += static_cast<std::uint64_t>(one.end - one.begin), due.window_ns += within, due.bytes += one.bytes;
  }
  std::sort(due.sorted.begin(), due.sorted.end());
  return due;
}

std::int64_t ranked(const std::vector<std::int64_t>& sorted, double share) {
  return sorted[static_cast<std::size_t>(std::ceil(share * static_cast<double>(sorted.size()))) - 1];
}

class DurationsTest : public ::testing::TestWithParam<std::uint32_t> {
 protected:
  void happen(Timeline& timeline, Chance& chance, int batches) {
    for (int i = 0; i < batches; ++i) chance.go_on(random_() % 3 + 1, random_() % 2000 + 1);
    newest_ = timeline.progress().newest;
  }
  std::mt19937_64 random_{GetParam()};
  std::int64_t newest_ = 0;
};

TEST_P(DurationsTest, AreThoseOfAScanOfAllEvents) {
  Timeline timeline;
  Chance chance(timeline, store::ProcessId(1), GetParam());
  happen(timeline, chance, 60);
  const std::vector<Plain> all = chance.all(newest_);
  for (int i = 0; i < 40; ++i) {
    const auto any = [&] { return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(newest_ + 1)); };
    const std::int64_t a = any(), b = any();
    DurationQuery query{.from = std::min(a, b), .to = std::max(a, b) + 1};
    query.track = std::array{TrackKind::kCasts, TrackKind::kOperators, TrackKind::kKernels}[i % 3];
    query.subject = i % 2 == 0 ? 0 : static_cast<std::uint32_t>(random_() % 6 + 1);
    const DueDurations due = due_durations(all, query);
    const Durations told = timeline.durations(query);
    EXPECT_TRUE(told.exact);
    ASSERT_EQ(told.count, due.sorted.size());
    ASSERT_EQ(told.single, told.count);
    ASSERT_EQ(std::tuple(told.ns, told.window_ns, told.bytes), std::tuple(due.ns, due.window_ns, due.bytes));
    ASSERT_EQ(std::tuple(told.steps, told.steps_ns), std::tuple(due.steps, due.steps_ns));
    if (due.sorted.empty()) continue;
    ASSERT_EQ(told.shortest, due.sorted.front());
    ASSERT_EQ(told.median, ranked(due.sorted, 0.5));
    ASSERT_EQ(told.p95, ranked(due.sorted, 0.95));
    ASSERT_EQ(told.longest, due.sorted.back());
    for (const Durations::Bar& bar : told.bars) {
      const auto in_bar = [&](std::int64_t ns) { return ns >= bar.from && ns < bar.to; };
      ASSERT_EQ(bar.count, static_cast<std::uint64_t>(std::count_if(due.sorted.begin(), due.sorted.end(), in_bar)));
    }
    ASSERT_LE(told.bars.front().from, told.shortest);
    ASSERT_GT(told.bars.back().to, told.longest);
  }
}

// The budget holds only a part of all events.
TEST_P(DurationsTest, SayWhatIsNotSingleAnyMore) {
  Timeline timeline({.bytes = 400'000});
  Chance chance(timeline, store::ProcessId(1), GetParam());
  happen(timeline, chance, 100);
  const DurationQuery query{.from = 0, .to = newest_ + 1};
  const DueDurations due = due_durations(chance.all(newest_), query);
  const Durations told = timeline.durations(query);
  EXPECT_FALSE(told.exact);
  EXPECT_LT(told.single, told.count);
  EXPECT_GT(told.single, 0u);
  EXPECT_EQ(told.count, due.sorted.size());  // of whole stretches the sums stay exact
  EXPECT_EQ(std::tuple(told.ns, told.bytes), std::tuple(due.ns, due.bytes));
  std::uint64_t in_bars = 0;
  for (const Durations::Bar& bar : told.bars) in_bars += bar.count;
  EXPECT_EQ(in_bars, told.single);
}

INSTANTIATE_TEST_SUITE_P(Seeds, DurationsTest, ::testing::Range(1u, 6u));

class SomeDurations : public ::testing::Test {
 protected:
  Timeline timeline_;
  Feeder feeder_{timeline_, store::ProcessId(1)};
};

TEST_F(SomeDurations, BarsGoByOneTwoFive) {
  std::int64_t time = 0;
  for (const std::int64_t ns : {3, 4, 19, 20, 500}) {
    time += 1000;
    feeder_.cast(time, time + ns, TestNumbers::kDownSite);
  }
  const Durations told = timeline_.durations({.from = 0, .to = 10'000});
  using Bar = Durations::Bar;
  EXPECT_THAT(told.bars,
              ::testing::ElementsAre(Bar{2, 5, 2}, Bar{5, 10, 0}, Bar{10, 20, 1}, Bar{20, 50, 1}, Bar{50, 100, 0},
                                     Bar{100, 200, 0}, Bar{200, 500, 0}, Bar{500, 1000, 1}));
  EXPECT_EQ(std::tuple(told.shortest, told.median, told.p95, told.longest), std::tuple(3, 19, 500, 500));
}

TEST_F(SomeDurations, EventsThatWereNotKeptAreTold) {
  feeder_.cast(1'000, 1'100, TestNumbers::kDownSite);
  timeline_.gap(store::ProcessId(1));
  feeder_.cast(9'000, 9'100, TestNumbers::kDownSite);
  const std::int64_t missing = timeline_.durations({.from = 0, .to = 20'000}).missing_ns;
  EXPECT_GE(missing, 7'900);
  EXPECT_LE(missing, 8'000);
  EXPECT_EQ(timeline_.durations({.from = 5'000, .to = 6'000}).missing_ns, 1'000);
  EXPECT_EQ(timeline_.durations({.from = 9'000, .to = 20'000}).missing_ns, 0);
}

TEST_F(SomeDurations, ManyEventsOfOneKindAreAllSeen) {
  constexpr std::int64_t kMany = 100'000;  // some fifty chunks, which are looked at in pieces
  for (std::int64_t i = 0; i < kMany; ++i) feeder_.cast(i * 100, i * 100 + 1 + i % 50, TestNumbers::kDownSite);
  const Durations told = timeline_.durations({.from = 0, .to = kMany * 100});
  EXPECT_EQ(told.count, static_cast<std::uint64_t>(kMany));
  EXPECT_EQ(told.ns, static_cast<std::uint64_t>(kMany * 51 / 2));
  EXPECT_EQ(std::tuple(told.shortest, told.median, told.p95, told.longest), std::tuple(1, 25, 48, 50));
  const Durations some = timeline_.durations({.from = kMany * 40, .to = kMany * 60});
  EXPECT_EQ(some.count, static_cast<std::uint64_t>(kMany / 5));
}

TEST_F(SomeDurations, OfNothingNothingIsTold) {
  feeder_.cast(1'000, 1'100, TestNumbers::kDownSite);
  const Durations told = timeline_.durations({.from = 5'000, .to = 6'000});
  EXPECT_EQ(told.count, 0u);
  EXPECT_TRUE(told.bars.empty());
}

}  // namespace
}  // namespace castscope::timeline
