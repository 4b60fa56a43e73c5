#include "server/rules/testing/scaler_loop.h"

namespace castscope::rules::scaler_collapse {
namespace {

using ScalerCollapseTest = RulesTest;

TEST_F(ScalerCollapseTest, FortySkippedSteps) {
  expect_golden("scaler_collapse_forty_skipped_steps", judged([](TestRun& run) {
                  ScalerLoop loop(run);
                  double scale = 65536;
                  for (int i = 0; i < 40; ++i, scale /= 2) loop.round(scale, scale / 2, true);
                }));
}

TEST_F(ScalerCollapseTest, TheFirstFewStepsAreSkipped) {
  expect_none(judged([](TestRun& run) {
    ScalerLoop loop(run);
    double scale = 65536;
    for (int i = 0; i < 8; ++i, scale /= 2) loop.round(scale, scale / 2, true);
    for (int i = 0; i < 8; ++i) loop.round(scale, scale);
  }));
}

// The scale is on a GPU, and the job reads only whether to step.
TEST_F(ScalerCollapseTest, SkipsThatOnlyTheDeviceKnewOf) {
  const auto skips = [](int times) {
    return [times](TestRun& run) {
      ScalerLoop loop(run);
      for (int i = 0; i < times; ++i) loop.round_on_device(/*overflow=*/true);
    };
  };
  EXPECT_EQ(judged(skips(17)).size(), 1u);
  expect_none(judged(skips(16)));
}

// A scale that begins very high takes longer to come down to the right one.
TEST_F(ScalerCollapseTest, ManySkipsAboveOneAreASearch) {
  expect_none(judged([](TestRun& run) {
    ScalerLoop loop(run);
    double scale = 1ll << 32;
    for (int i = 0; i < 20; ++i, scale /= 2) loop.round(scale, scale / 2, true);
    loop.round(scale, scale);
  }));
}

}  // namespace
}  // namespace castscope::rules::scaler_collapse
