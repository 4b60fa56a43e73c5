#include "server/report/model/metrics.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "server/report/forms/json.h"
#include "server/report/forms/terminal.h"
#include "server/report/html/charts.h"
#include "server/report/testing/test_report.h"
#include "server/report/text/words.h"

namespace castscope::report {
namespace {

using store::TestRun;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

class MetricsTest : public RecordedTest {
 protected:
  static std::uint32_t fact(TestRun& run, const std::string& name, std::int64_t line = 9) {
    return run.fact(lanes::FactKind::kMetric, line, {.text = name});
  }
  static std::string line(const store::RunData& data) { return metrics_line(model_of(data)); }
};

TEST_F(MetricsTest, TheLossAndTheScaleOfGradients) {
  const store::RunData data = recorded([](TestRun& run) {
    const auto loss = fact(run, "loss"), update = run.fact(lanes::FactKind::kUpdate, 12);
    double scale = 65536, value = 2.5;
    for (const double next : {65536.0, 16384.0, 32768.0}) {
      run.metric(loss, value).update(update, scale, next).step();
      scale = next, value /= 2;
    }
  });
  EXPECT_EQ(line(data), "loss 2.5 to 0.625; gradient scale 65,536 to 16,384");
  EXPECT_THAT(summary(data, {.width = 80}), HasSubstr("\n  loss 2.5 to 0.625; gradient scale 65,536 to 16,384\n"));
  const auto json = to_json(data)["metrics"];
  ASSERT_EQ(json.size(), 2u);
  EXPECT_EQ(json[0]["metric_source"], "castscope.metric");
  EXPECT_EQ(json[0]["step_values"].dump(),
            R"([{"step":0,"metric_value":2.5},{"step":1,"metric_value":1.25},{"step":2,"metric_value":0.625}])");
  EXPECT_EQ(json[1]["metric_source"], "GradScaler");
  EXPECT_EQ(json[1]["least_value"], 16384);
}

TEST_F(MetricsTest, AValueThatIsNoNumberHasItsStep) {
  const store::RunData data = recorded([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto loss = fact(run, "loss");
    for (const double value : {3.0, 1.0, kNan, kNan}) run.enter(region).exit().metric(loss, value).step();
  });
  EXPECT_EQ(line(data), "loss 3 to NaN (not finite 2 times, first in step 2, lowest 1)");
  const auto json = to_json(data)["metrics"][0];
  EXPECT_EQ(json["first_not_finite_step"], 2);
  EXPECT_TRUE(json["last_value"].is_null());
  EXPECT_TRUE(json["step_values"][3]["metric_value"].is_null());
  const std::vector<Series> charts = metric_series(model_of(data));
  ASSERT_EQ(charts.size(), 1u);
  EXPECT_EQ(charts[0].title, "loss: " + line(data).substr(5));
  Html html;
  draw(html, charts[0]);
  const std::string drawn = html.take();
  EXPECT_THAT(drawn, HasSubstr("steps 0 to 3: at most 3"));  // the steps without a value too
  EXPECT_THAT(drawn, Not(HasSubstr("nan")));
}

TEST_F(MetricsTest, AGapOfTheCurveIsWhereAValueIsNoNumber) {
  const auto curve_of = [](const std::vector<double>& values) {
    Series series{.title = "loss", .stretches = {}, .label = real};
    for (std::uint64_t i = 0; i < values.size(); ++i) series.stretches.push_back({i, i, values[i]});
    Html html;
    draw(html, series);
    return html.take();
  };
  const auto pens_down = [](const std::string& drawn) {
    const std::string curve = drawn.substr(drawn.find("\"curve\""));
    return std::ranges::count(curve.substr(0, curve.find("/>")), 'M');
  };
  EXPECT_EQ(pens_down(curve_of({1, 2, 3})), 1);
  EXPECT_EQ(pens_down(curve_of({1, kNan, 3})), 2);
  EXPECT_THAT(curve_of({-10, -3}), HasSubstr("at most -3"));
  for (const auto& values : {std::vector{kNan, kNan}, std::vector{1.7e308, -1e308}}) {
    EXPECT_THAT(curve_of(values), Not(HasSubstr("<svg")));
    EXPECT_THAT(curve_of(values), HasSubstr("<figcaption>loss</figcaption>"));
  }
}

TEST_F(MetricsTest, WhatAReaderWantsToSeeComesFirst) {
  const store::RunData data = recorded([](TestRun& run) {
    for (const char* name : {"epoch", "lr", "throughput", "train/loss"}) run.metric(fact(run, name), -12345);
    run.metric(fact(run, "grad_norm"), kNan).update(run.fact(lanes::FactKind::kUpdate, 12), 8, 8);
  });
  EXPECT_EQ(line(data),
            "grad_norm NaN (not finite 1 time, first in step 0); train/loss -12,345; gradient scale 8; and 3 more");
  EXPECT_THAT(summary(data, {.width = 80, .full = true}), HasSubstr("throughput -12,345"));
}

// The ring was full: the count is exact all the same.
TEST_F(MetricsTest, ValuesThatDidNotArriveAreCounted) {
  const store::RunData data = recorded([](TestRun& run) {
    const auto loss = fact(run, "loss"), rate = fact(run, "rate");
    run.metric(loss, 2).flush().metric(loss, 1).metric(rate, 1).drop();
  });
  EXPECT_EQ(line(data), "loss 2 (1 of 2 did not arrive); rate no value arrived of 1");
  const auto json = to_json(data)["metrics"];
  EXPECT_EQ(json[1]["told_values"], 1);
  EXPECT_EQ(json[1]["missing_values"], 1);
  EXPECT_TRUE(json[1]["first_value"].is_null());
}

// One name told at two lines is one metric.
TEST_F(MetricsTest, OneNameIsOneMetricWhereverItIsTold) {
  const store::RunData data =
      recorded([](TestRun& run) { run.metric(fact(run, "loss", 9), 2).step().metric(fact(run, "loss", 20), -1); });
  EXPECT_EQ(line(data), "loss 2 to -1");
}

TEST_F(MetricsTest, ThereIsRoomForAFew) {
  const store::RunData data = recorded([](TestRun& run) {
    for (const char* name : {"a", "b", "c", "d", "e"}) run.metric(fact(run, name), 1);
  });
  EXPECT_EQ(line(data), "a 1; b 1; c 1; and 2 more");
  EXPECT_THAT(summary(data, {.width = 20}), HasSubstr("\n  a 1; b 1; c 1; an…\n"));
}

TEST_F(MetricsTest, ANumberThatNeverChangesIsOneNumber) {
  const store::RunData data = recorded([](TestRun& run) {
    const auto rate = fact(run, "rate");
    run.metric(rate, 0.001).step().metric(rate, 0.001);
  });
  EXPECT_EQ(line(data), "rate 0.001");
}

TEST_F(MetricsTest, WithoutMetricsNothingIsSaid) {
  const store::RunData data = recorded([](TestRun& run) { run.cast(run.weight("train.py", 8, "fc"), 1, true); });
  EXPECT_EQ(line(data), "");
  EXPECT_EQ(to_json(data)["metrics"].size(), 0u);
  EXPECT_THAT(summary(data, {.width = 80}), Not(HasSubstr("scale")));
}

}  // namespace
}  // namespace castscope::report
