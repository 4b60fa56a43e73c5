// How long events took, asked through the API.
#include "server/web/api/routes_test.h"

namespace castscope::web {
namespace {

class DurationRouteTest : public RoutesTest {
 protected:
  DurationRouteTest() {
    record();
    show();
    (void)loaded();
  }
};

TEST_F(DurationRouteTest, TellsTheDistributionAndTheShareOfSteps) {
  const Json told = json("runs/run/durations", window());
  EXPECT_EQ(told["event_count"], 4);  // the hit is none of them
  EXPECT_EQ(told["single_events"], 4);
  EXPECT_EQ(told["exact"], true);
  EXPECT_EQ(told["events_ns"], 4 * 500);
  EXPECT_EQ(told["window_ns"], 4 * 500);
  EXPECT_EQ(told["event_bytes"], 1000 + 1000 + 4096 + 1000);
  for (const char* const name : {"shortest_ns", "median_ns", "p95_ns", "longest_ns"}) EXPECT_EQ(told[name], 500);
  EXPECT_EQ(told["duration_bars"], Json::array({{{"least_ns", 500}, {"below_ns", 1000}, {"event_count", 4}}}));
  EXPECT_GE(told["step_count"], 2);
  EXPECT_GT(told["steps_ns"], told["window_ns"]);
  EXPECT_EQ(told["not_kept_ns"], 0);
}

TEST_F(DurationRouteTest, OfOneSite) {
  EXPECT_EQ(json("runs/run/durations", window() + "&track_kind=casts&subject=1")["event_count"], 2);
  EXPECT_EQ(json("runs/run/durations", window() + "&track_kind=operators")["event_count"], 0);
  EXPECT_EQ(json("runs/run/durations", window() + "&track_kind=operators")["median_ns"], nullptr);
}

TEST_F(DurationRouteTest, WrongParametersAreNamed) {
  EXPECT_THAT(trouble("runs/run/durations", window() + "&track_kind=regions", 400), HasSubstr("track_kind"));
  EXPECT_THAT(trouble("runs/run/durations", "window_begin_ns=2&window_end_ns=1", 400), HasSubstr("not before"));
}

}  // namespace
}  // namespace castscope::web
