#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/timeline/testing/test_events.h"
#include "server/timeline/testing/test_picture.h"
#include "server/timeline/tracks/modules.h"

namespace castscope::timeline {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> levels(const char* path, std::uint32_t number = 1) {
  return module_levels({.path = path, .type = {}, .root_type = "Net", .root_number = number});
}

TEST(ModuleLevels, AreTheModelAndTheParts) {
  EXPECT_THAT(levels(""), ElementsAre("Net"));
  EXPECT_THAT(levels("head", 2), ElementsAre("Net#2", "head"));
  EXPECT_THAT(levels("bert.encoder.layer.11.attention"),
              ElementsAre("Net", "bert", "encoder", "layer.11", "attention"));
  EXPECT_THAT(levels("0.1"), ElementsAre("Net", "0", "1"));
  EXPECT_THAT(levels("layers.3.0"), ElementsAre("Net", "layers.3", "0"));
  EXPECT_THAT(levels("a.b.c.d.e.f.g"), ElementsAre("Net", "a", "b", "c", "d", "e"));
}

// One interval of a row: {use, begin, end}.
using Interval = std::tuple<std::uint32_t, std::int64_t, std::int64_t>;

class ModulesTest : public ::testing::Test {
 protected:
  std::vector<std::vector<Interval>> rows(std::uint32_t lane = 1) {
    std::vector<std::vector<Interval>> rows;
    for (const Track& track : timeline_.tracks()) {
      if (track.kind != TrackKind::kModules || track.lane != lane) continue;
      EXPECT_EQ(track.depth, rows.size());
      rows.emplace_back();
      NeighbourQuery query{.at = -1};
      query.filter.tracks = {track.id};
      while (const auto found = timeline_.neighbour(query)) {
        rows.back().emplace_back(found->subject, found->begin, found->end);
        query.at = found->begin;
      }
    }
    return rows;
  }
  Timeline timeline_;
  Feeder feeder_{timeline_};
};

TEST_F(ModulesTest, LastFromTheirFirstToTheirLastOperator) {
  feeder_.lane(1).operate(10, 20, TestNumbers::kQueryUse).operate(25, 30, TestNumbers::kQueryUse);
  feeder_.operate(40, 50, TestNumbers::kKeyUse)
      .operate(60, 70, TestNumbers::kHeadUse)
      .operate(80, 90, TestNumbers::kNetUse);
  timeline_.end();
  EXPECT_THAT(
      rows(),
      ElementsAre(ElementsAre(Interval(TestNumbers::kQueryUse, 10, 90)),
                  ElementsAre(Interval(TestNumbers::kQueryUse, 10, 50), Interval(TestNumbers::kHeadUse, 60, 70)),
                  ElementsAre(Interval(TestNumbers::kQueryUse, 10, 50)),
                  ElementsAre(Interval(TestNumbers::kQueryUse, 10, 30), Interval(TestNumbers::kKeyUse, 40, 50))));
}

TEST_F(ModulesTest, AnotherModuleBetweenMakesTwo) {
  feeder_.lane(1).operate(10, 20, TestNumbers::kHeadUse).operate(30, 40, 1).operate(50, 60, TestNumbers::kHeadUse);
  timeline_.end();
  const auto apart = ElementsAre(Interval(TestNumbers::kHeadUse, 10, 20), Interval(TestNumbers::kHeadUse, 50, 60));
  EXPECT_THAT(rows(), ElementsAre(apart, apart));
}

TEST_F(ModulesTest, AStepEndsThem) {
  feeder_.lane(1).operate(10, 20, TestNumbers::kHeadUse, 0, 1).operate(30, 40, TestNumbers::kHeadUse, 0, 2);
  timeline_.end();
  const auto apart = ElementsAre(Interval(TestNumbers::kHeadUse, 10, 20), Interval(TestNumbers::kHeadUse, 30, 40));
  EXPECT_THAT(rows(), ElementsAre(apart, apart));
}

TEST_F(ModulesTest, OperatorsWithinOthersMakeNone) {
  feeder_.lane(1).operate(12, 18, TestNumbers::kQueryUse, 1).operate(10, 20, TestNumbers::kHeadUse);
  timeline_.end();
  EXPECT_THAT(rows(), ElementsAre(ElementsAre(Interval(TestNumbers::kHeadUse, 10, 20)),
                                  ElementsAre(Interval(TestNumbers::kHeadUse, 10, 20))));
}

TEST_F(ModulesTest, AGapEndsThemAndLanesAreApart) {
  feeder_.lane(1).operate(10, 20, TestNumbers::kNetUse);
  timeline_.gap(store::ProcessId(1));
  feeder_.operate(30, 40, TestNumbers::kNetUse).lane(2).operate(15, 35, TestNumbers::kNetUse);
  timeline_.end();
  EXPECT_THAT(rows(1),
              ElementsAre(ElementsAre(Interval(TestNumbers::kNetUse, 10, 20), Interval(TestNumbers::kNetUse, 30, 40))));
  EXPECT_THAT(rows(2), ElementsAre(ElementsAre(Interval(TestNumbers::kNetUse, 15, 35))));
}

TEST_F(ModulesTest, AreShownAndNotCounted) {
  feeder_.lane(1).operate(10, 20, TestNumbers::kNetUse).operate(30, 40, TestNumbers::kNetUse);
  timeline_.end();
  const Summary summary = timeline_.summary({.from = 0, .to = 100});
  EXPECT_EQ(summary.events, 2u);
  for (const KindSum& kind : summary.kinds) EXPECT_NE(kind.kind, ShadeKind::kModule);
  const Summary with_modules = timeline_.summary({.from = 0, .to = 100, .modules = true});
  EXPECT_GT(with_modules.events, summary.events);
  EXPECT_EQ(with_modules.kinds.back().kind, ShadeKind::kModule);
  EXPECT_EQ(with_modules.kinds.back().count, with_modules.events - summary.events);
  const ReadPicture seen(timeline_.picture({.from = 0, .to = 64, .pixels = 64}));
  for (const Track& track : timeline_.tracks()) {
    if (track.kind != TrackKind::kModules) continue;
    EXPECT_EQ(seen.value(track.id, 25) >> 8, 255);  // between two operators of the module
    EXPECT_EQ(seen.value(track.id, 45), 0);
  }
}

// However deep and however restless: an operator adds at most an interval a level.
TEST_F(ModulesTest, TakeABoundedShareOfMemory) {
  Timeline without;
  Feeder other(without);
  for (std::int64_t i = 0; i < 100'000; ++i) {
    feeder_.lane(1).operate(i * 10, i * 10 + 5, i % 2 == 0 ? TestNumbers::kQueryUse : TestNumbers::kHeadUse);
    other.lane(1).operate(i * 10, i * 10 + 5, 1);
  }
  EXPECT_LT(timeline_.progress().memory_bytes, (1 + kMostModuleLevels) * without.progress().memory_bytes);
}

}  // namespace
}  // namespace castscope::timeline
