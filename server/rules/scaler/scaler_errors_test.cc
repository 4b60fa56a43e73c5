// scaler-fp16-params and scaler-double-unscale: errors that GradScaler itself raises.
#include "server/rules/testing/scaler_loop.h"

namespace castscope::rules {
namespace {

using ScalerErrorsTest = RulesTest;

TEST_F(ScalerErrorsTest, Float16Parameters) {
  expect_golden("scaler_fp16_params_raises", judged([](TestRun& run) {
                  ScalerLoop loop(run);
                  loop.forward_and_backward();
                  run.seen(run.error(8, "Attempting to unscale FP16 gradients."));
                }));
}

TEST_F(ScalerErrorsTest, UnscaledTwice) {
  expect_golden(
      "scaler_double_unscale_raises", judged([](TestRun& run) {
        ScalerLoop loop(run);
        loop.forward_and_backward();
        run.unscale(loop.unscale);
        run.seen(run.error(9, "unscale_() has already been called on this optimizer since the last update()."));
      }));
}

TEST_F(ScalerErrorsTest, OtherErrorsOfTheScaler) {
  expect_none(judged([](TestRun& run) {
    ScalerLoop loop(run);
    loop.forward_and_backward();
    run.seen(run.error(9, "Closure use is not currently supported if GradScaler is enabled."));
  }));
}

}  // namespace
}  // namespace castscope::rules
