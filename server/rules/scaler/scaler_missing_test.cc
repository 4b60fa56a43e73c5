#include "server/rules/testing/rules_test.h"

namespace castscope::rules::scaler_missing {
namespace {

using ScalerMissingTest = RulesTest;

// A float16 training step whose backward gives these gradients.
struct Loop {
  explicit Loop(TestRun& test_run, std::uint8_t dtype = kFloat16) : run(test_run) {
    store::RegionInfo info = TestRun::default_region();
    info.dtype = dtype;
    region = run.region("train.py", 5, info);
    backward = run.fact(FactKind::kBackward, 9);
    step = run.fact(FactKind::kOptimizerStep, 10, {.text = "SGD"});
    scaled = gradient("MulBackward0", dtype);
    weight = gradient("MmBackward0", dtype);
  }
  std::uint32_t gradient(const std::string& node, std::uint8_t dtype) {
    return run.use({.op = "aten::mm",
                    .line = 9,
                    .operands = {operand(dtype, Role::kGradient), operand(dtype)},
                    .phase = lanes::Phase::kBackward,
                    .node = node});
  }
  void steps(const TestRun::Sample& first, const TestRun::Sample& second, int times = 3) {
    for (int i = 0; i < times; ++i) {
      run.deep().enter(region).exit().backward(backward);
      run.called(scaled).values(scaled, first).called(weight).values(weight, second);
      run.optimizer(step).shallow().step();
    }
  }
  TestRun& run;
  std::uint32_t region, backward, step, scaled, weight;
};

TEST_F(ScalerMissingTest, AllGradientsBecomeZero) {
  expect_golden("scaler_missing_gradients_become_zero",
                judged([](TestRun& run) { Loop(run).steps({.most = 9.5e-7}, {.most = 0, .zeros = 256}); }));
}

TEST_F(ScalerMissingTest, Bfloat16) {
  expect_none(judged([](TestRun& run) {
    Loop loop(run, kBFloat16);
    loop.steps({.most = 9.5e-7}, {.most = 1e-9});
  }));
}

// With GradScaler, or a loss that is scaled by hand, the values are large enough.
TEST_F(ScalerMissingTest, GradientsThatFloat16Holds) {
  expect_none(judged([](TestRun& run) { Loop(run).steps({.most = 1}, {.most = 0.01, .zeros = 128}); }));
}

// A loss that is 0 gives gradients that are 0: none of them was ever small.
TEST_F(ScalerMissingTest, ALossOfZero) {
  expect_none(judged([](TestRun& run) { Loop(run).steps({.most = 1}, {.most = 0, .zeros = 256}); }));
}

TEST_F(ScalerMissingTest, WithAScaler) {
  expect_none(judged([](TestRun& run) {
    Loop loop(run);
    const auto unscale = run.fact(FactKind::kUnscale, 10);
    loop.steps({.most = 9.5e-7}, {.most = 0, .zeros = 256});
    run.unscale(unscale);
  }));
}

// Gradients are computed for their own sake (saliency), without training.
TEST_F(ScalerMissingTest, NoOptimizer) {
  expect_none(judged([](TestRun& run) {
    Loop loop(run);
    run.deep().enter(loop.region).exit().backward(loop.backward).called(loop.weight);
    run.values(loop.weight, {.most = 1e-6, .zeros = 200}).shallow();
  }));
}

// No gradient is sampled without deep steps, or on a GPU: a step casts the weights, and its backward casts gradients.
struct UnsampledLoop {
  explicit UnsampledLoop(TestRun& test_run, std::uint8_t dtype = kFloat16) : run(test_run) {
    store::RegionInfo info = TestRun::default_region();
    info.dtype = dtype;
    region = run.region("train.py", 5, info);
    backward = run.fact(FactKind::kBackward, 9, {.text = ""});
    step = run.fact(FactKind::kOptimizerStep, 10, {.text = "SGD"});
    weight = run.site({.stack = run.line("train.py", 6),
                       .region = region,
                       .op = "aten::linear",
                       .role = Role::kWeight,
                       .cause = lanes::Cause::kAutocast,
                       .phase = lanes::Phase::kForward,
                       .from = kFloat32,
                       .to = dtype});
    gradient = run.site({.op = {},
                         .role = Role::kGradient,  // a GPU's thread of backward has no Python stack
                         .cause = lanes::Cause::kBackward,
                         .phase = lanes::Phase::kBackward,
                         .from = dtype,
                         .to = kFloat32});
  }
  void steps(int times = 4) {
    for (int i = 0; i < times; ++i) {
      run.enter(region).cast(weight, kWeight, true).exit().backward(backward).cast(gradient, kOther);
      run.optimizer(step).step();
    }
  }
  TestRun& run;
  std::uint32_t region, backward, step, weight, gradient;
};

TEST_F(ScalerMissingTest, NotMeasured) {
  expect_golden("scaler_missing_not_measured", judged([](TestRun& run) { UnsampledLoop(run).steps(); }));
}

TEST_F(ScalerMissingTest, NotMeasuredBfloat16) {
  expect_none(judged([](TestRun& run) { UnsampledLoop(run, kBFloat16).steps(); }));
}

TEST_F(ScalerMissingTest, NotMeasuredInTwoSteps) {
  expect_none(judged([](TestRun& run) { UnsampledLoop(run).steps(2); }));
}

TEST_F(ScalerMissingTest, NotMeasuredWithAScaler) {
  expect_none(judged([](TestRun& run) {
    UnsampledLoop loop(run);
    const auto unscale = run.fact(FactKind::kUnscale, 10), update = run.fact(FactKind::kUpdate, 11);
    const auto step = run.fact(FactKind::kOptimizerStep, 10, {.detail = 1, .text = "SGD"});
    for (int i = 0; i < 4; ++i) {
      run.enter(loop.region)
          .cast(loop.weight, kWeight, true)
          .exit()
          .backward(loop.backward)
          .cast(loop.gradient, kOther);
      run.unscale(unscale).optimizer(step).update(update, 65536, 65536).step();
    }
  }));
}

// (loss * scale).backward(), or loss.backward(scale).
TEST_F(ScalerMissingTest, NotMeasuredAndMaybeScaledByHand) {
  for (const char* sign : {"the loss is a product", "gradients of the loss are given"}) {
    expect_none(judged([&](TestRun& run) {
      UnsampledLoop loop(run);
      loop.backward = run.fact(FactKind::kBackward, 9, {.text = sign});
      loop.steps();
    }));
  }
}

// A model in float16 whose float32 masters some other code keeps: it is not trained in the dtype in which autocast runs
// it.
TEST_F(ScalerMissingTest, NotMeasuredOfFloat16Weights) {
  expect_none_of("scaler-missing", judged([](TestRun& run) {
                   UnsampledLoop loop(run);
                   lanes::Operand weight = operand(kFloat16, Role::kWeight);
                   weight.flags |= lanes::kOperandRequiresGrad;
                   const auto use = run.use({.op = "aten::linear", .line = 6, .operands = {operand(kFloat16), weight}});
                   run.deep().called(use).shallow();
                   loop.steps();
                 }));
}

TEST_F(ScalerMissingTest, NotMeasuredAndNeverTrained) {
  expect_none(judged([](TestRun& run) {
    UnsampledLoop loop(run);
    for (int i = 0; i < 4; ++i) run.enter(loop.region).cast(loop.weight, kWeight, true).exit();
  }));
}

}  // namespace
}  // namespace castscope::rules::scaler_missing
