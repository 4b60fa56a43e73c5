#include "server/store/trackers/metric_tracker.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

namespace castscope::store {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

class MetricTrackerTest : public testing::Test {
 protected:
  // A run file's part of it: the values of each metric, and its row.
  void take() {
    tracker_.take(
        {.put = [&](const Metric& metric) { rows_[metric.name] = metric; },
         .put_value = [&](const Metric& metric, MetricValue value) { values_[metric.name][value.step] = value.value; },
         .thin =
             [&](const Metric& metric) {
               std::map<std::uint32_t, double>& values = values_[metric.name];
               std::erase_if(values,
                             [&](const auto& one) { return (one.first - metric.first_step) % metric.kept_every != 0; });
               return values.size();
             }});
  }
  void loss(std::uint32_t step, double value) { tracker_.value(MetricSource::kJob, "loss", step, value); }

  MetricTracker tracker_;
  std::map<std::string, Metric> rows_;
  std::map<std::string, std::map<std::uint32_t, double>> values_;
};

TEST_F(MetricTrackerTest, KeepsTheLastValueOfAStep) {
  loss(0, 3);
  loss(1, 9);
  loss(1, 2);
  tracker_.value(MetricSource::kJob, "rate", 1, 0.1);
  take();
  loss(2, 1);
  take();
  EXPECT_THAT(values_["loss"], testing::ElementsAre(std::pair(0, 3), std::pair(1, 2), std::pair(2, 1)));
  EXPECT_THAT(values_["rate"], testing::ElementsAre(std::pair(1, 0.1)));
  const Metric& row = rows_["loss"];
  EXPECT_EQ(row.values, 4u);
  EXPECT_EQ(std::tuple(row.first, row.last, row.least, row.most), std::tuple(3, 1, 1, 9));
}

TEST_F(MetricTrackerTest, WhatIsNoNumberIsToldAndNoLeastOrMost) {
  loss(3, -1);
  loss(4, kNan);
  loss(5, -std::numeric_limits<double>::infinity());
  take();
  const Metric& row = rows_["loss"];
  EXPECT_EQ(row.not_finite, 2u);
  EXPECT_EQ(row.first_not_finite_step, 4u);
  EXPECT_EQ(std::tuple(row.least, row.most), std::tuple(-1, -1));
  EXPECT_TRUE(std::isnan(values_["loss"].at(4)));
}

// Jobs write down a number every so many steps, and begin with any of them.
TEST_F(MetricTrackerTest, ALongSeriesIsThinnedEvenly) {
  constexpr std::uint32_t kFirst = 49, kApart = 50, kTold = 40'000;
  for (std::uint32_t i = 0; i < kTold; ++i) {
    loss(kFirst + i * kApart, i);
    if (i % 100 == 0) take();
  }
  take();
  const std::map<std::uint32_t, double>& values = values_["loss"];
  EXPECT_LE(values.size(), MetricTracker::kMostValues);
  EXPECT_GE(values.size(), MetricTracker::kMostValues / 2);
  EXPECT_EQ(values.begin()->first, kFirst);
  for (auto one = values.begin(), next = std::next(one); next != values.end(); ++one, ++next)
    ASSERT_EQ(next->first - one->first, kApart * 4);
  EXPECT_EQ(rows_["loss"].values, kTold);
  EXPECT_EQ(rows_["loss"].last, kTold - 1);
}

TEST_F(MetricTrackerTest, ManyValuesOfOneStepAreNoLongSeries) {
  for (std::uint32_t i = 0; i < 10 * MetricTracker::kMostValues; ++i) {
    loss(i / MetricTracker::kMostValues, i);
    take();
  }
  EXPECT_EQ(rows_["loss"].kept_every, 1u);
  EXPECT_EQ(values_["loss"].size(), 10u);
}

TEST_F(MetricTrackerTest, GoesOnWhereAnEarlierLifeOfTheFileStopped) {
  Metric before;
  before.number = 1;
  before.name = "loss";
  before.values = 2;
  before.first = 5;
  before.least = 4;
  before.most = 5;
  before.kept_every = 2;
  before.kept = {{0, 5}};
  tracker_.adopt(before);
  loss(2, 6);
  loss(3, 7);
  tracker_.value(MetricSource::kJob, "rate", 3, 0.1);
  take();
  EXPECT_EQ(rows_["loss"].values, 4u);
  EXPECT_EQ(std::tuple(rows_["loss"].first, rows_["loss"].least, rows_["loss"].most), std::tuple(5, 4, 7));
  EXPECT_THAT(values_["loss"], testing::ElementsAre(std::pair(2, 6)));
  EXPECT_EQ(rows_["rate"].number, 2u);
}

TEST_F(MetricTrackerTest, NamesBeyondTheMostArePassedOver) {
  for (std::size_t i = 0; i <= MetricTracker::kMostMetrics; ++i)
    tracker_.value(MetricSource::kJob, "m" + std::to_string(i), 0, 1);
  tracker_.value(MetricSource::kJob, "m0", 1, 2);
  take();
  EXPECT_EQ(rows_.size(), MetricTracker::kMostMetrics);
  EXPECT_EQ(rows_["m0"].values, 2u);
}

}  // namespace
}  // namespace castscope::store
