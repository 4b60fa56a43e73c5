#include "server/rules/testing/scaler_loop.h"

namespace castscope::rules::scaler_updated_midway {
namespace {

using ScalerUpdatedMidwayTest = RulesTest;

TEST_F(ScalerUpdatedMidwayTest, AnUpdateBetweenTwoBackwards) {
  expect_golden("scaler_updated_midway_between_backwards", judged([](TestRun& run) {
                  ScalerLoop loop(run);
                  loop.forward_and_backward();
                  run.update(loop.update, 2048, 1024);
                  loop.round(1024, 1024);
                }));
}

TEST_F(ScalerUpdatedMidwayTest, OneUpdateForEachStep) {
  expect_none(judged([](TestRun& run) {
    ScalerLoop loop(run);
    for (int i = 0; i < 3; ++i) loop.forward_and_backward().round(2048, 2048);
  }));
}

}  // namespace
}  // namespace castscope::rules::scaler_updated_midway
