// For tests of the rules about gradient scaling: a training loop with a scaler, in facts and events.
#pragma once

#include "server/rules/testing/rules_test.h"

namespace castscope::rules {

struct ScalerLoop {
  explicit ScalerLoop(TestRun& test_run, std::uint8_t dtype = kFloat16) : run(test_run) {
    store::RegionInfo info = TestRun::default_region();
    info.dtype = dtype;
    region = run.region("train.py", 5, info);
    scale = run.fact(FactKind::kScale, 7);
    backward = run.fact(FactKind::kBackward, 7);
    unscale = run.fact(FactKind::kUnscale, 8);
    not_finite = run.fact(FactKind::kUnscale, 8, {.detail = 1, .text = ""});
    not_read = run.fact(FactKind::kUnscale, 8, {.detail = 2, .text = ""});
    not_stepped = run.fact(FactKind::kUnscale, 8, {.detail = 3, .text = ""});
    step = run.fact(FactKind::kOptimizerStep, 8, {.detail = 1, .text = "AdamW"});
    other_step = run.fact(FactKind::kOptimizerStep, 9, {.text = "SGD"});
    update = run.fact(FactKind::kUpdate, 10);
    clip = run.fact(FactKind::kClip, 11);
  }
  // scaler.scale(loss).backward()
  ScalerLoop& forward_and_backward() {
    run.enter(region).exit();
    run.scaled(scale).backward(backward);
    return *this;
  }
  ScalerLoop& round(double before = 65536, double after = 65536, bool overflow = false) {
    forward_and_backward();
    if (overflow)
      run.unscale(not_finite);
    else
      run.unscale(unscale).optimizer(step);
    run.update(update, before, after);
    return *this;
  }
  // The round as it is recorded where the gradients and the scale are on a GPU.
  ScalerLoop& round_on_device(bool overflow) {
    forward_and_backward();
    run.unscale(not_read);
    if (overflow)
      run.unscale(not_stepped);
    else
      run.optimizer(step);
    run.update(update, 0, 0);
    return *this;
  }

  TestRun& run;
  std::uint32_t region, scale, backward, unscale, not_finite, not_read, not_stepped, step, other_step, update, clip;
};

}  // namespace castscope::rules
