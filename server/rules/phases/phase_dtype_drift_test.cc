#include "server/rules/testing/rules_test.h"

namespace castscope::rules::phase_dtype_drift {
namespace {

using lanes::Phase;

class PhaseDtypeDriftTest : public RulesTest {
 protected:
  static constexpr std::uint16_t kEligible = lanes::kUseEligible, kTraining = kEligible | lanes::kUseGradMode;

  struct How {
    std::int64_t line = 20;  // the line that calls the module
    std::uint8_t computed = kBFloat16;
    bool outside = false;
    std::uint16_t flags = kTraining;
    std::string module = "fc";
    std::uint8_t weight = kFloat32;
    bool raised = false;
    std::int64_t model_line = 8;                    // the line in the model
    std::vector<store::CodeLocation> between = {};  // the user's line and the model's caller
  };
  static std::uint32_t linear(TestRun& run, How how) {
    std::vector<store::CodeLocation> frames = {TestRun::torch_frame("nn/modules/linear.py", "Linear.forward"),
                                               TestRun::torch_frame("nn/modules/module.py", "Module._call_impl"),
                                               TestRun::own_frame("Net.forward", how.model_line, "model.py"),
                                               TestRun::torch_frame("nn/modules/module.py", "Module._call_impl")};
    frames.insert(frames.end(), how.between.begin(), how.between.end());
    frames.push_back(TestRun::own_frame("main", how.line));
    const bool grad = how.flags & lanes::kUseGradMode;
    return run.use(
        {.op = "aten::linear",
         .operands = {operand(kFloat32, Role::kInput), operand(how.weight, Role::kWeight, lanes::kOperandRequiresGrad)},
         .computed = how.computed,
         .flags = how.flags,
         .phase = grad || !how.outside ? Phase::kForward : Phase::kOther,
         .module = how.module,
         .outside = how.outside,
         .raised = how.raised,
         .stack = run.stack(frames)});
  }
  static How validation(std::int64_t line = 30) {
    return {.line = line, .computed = kFloat32, .outside = true, .flags = kEligible};
  }
};

TEST_F(PhaseDtypeDriftTest, ValidationWithoutARegion) {
  expect_golden("phase_dtype_drift_validation_without_region", judged([](TestRun& run) {
                  const auto region = run.region("train.py", 19);
                  const auto training = linear(run, {});
                  const auto evaluation = linear(run, validation());
                  run.enter(region).deep().called(training, 3).exit().called(evaluation, 2).shallow();
                }));
}

TEST_F(PhaseDtypeDriftTest, BothInARegion) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 19);
    const auto training = linear(run, {});
    run.enter(region).deep().called(training).exit();
    const auto other = run.region("train.py", 29);
    const auto evaluation = linear(run, {.line = 30, .flags = kEligible});
    run.enter(other).called(evaluation).exit().shallow();
  }));
}

TEST_F(PhaseDtypeDriftTest, AModelWithManyLayersIsOneFinding) {
  const auto findings = judged([](TestRun& run) {
    const auto region = run.region("train.py", 19);
    run.enter(region).deep();
    for (const char* name : {"fc", "head"}) run.called(linear(run, {.module = name}));
    run.exit();
    for (const char* name : {"fc", "head"}) {
      How how = validation();
      how.module = name;
      run.called(linear(run, how));
    }
    run.shallow();
  });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].evidence_number[0], std::pair(std::string("operator_count"), std::int64_t{2}));
}

TEST_F(PhaseDtypeDriftTest, ValidationInTheOtherHalf) {
  const auto findings = judged([](TestRun& run) {
    const auto region = run.region("train.py", 19);
    const auto training = linear(run, {});
    run.enter(region).deep().called(training).exit();
    auto info = TestRun::default_region();
    info.dtype = kFloat16;
    const auto other = run.region("train.py", 29, info);
    const auto evaluation = linear(run, {.line = 30, .computed = kFloat16, .flags = kEligible});
    run.enter(other).called(evaluation).exit().shallow();
  });
  EXPECT_EQ(findings.size(), 1u);
}

TEST_F(PhaseDtypeDriftTest, FloatOnPurpose) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 19);
    const auto training = linear(run, {});
    run.enter(region).deep().called(training).exit();
    auto info = TestRun::default_region();
    info.enabled = false;
    const auto off = run.region("train.py", 29, info);
    const auto evaluation = linear(run, {.line = 30, .computed = kFloat32, .flags = kEligible});
    run.enter(off).called(evaluation).exit().shallow();
  }));
}

TEST_F(PhaseDtypeDriftTest, ADryRunBeforeTraining) {
  expect_none(judged([](TestRun& run) {
    How how = validation();
    how.flags |= lanes::kUseBeforeTraining;
    const auto dry = linear(run, how);
    run.deep().called(dry, 3);
    const auto region = run.region("train.py", 19);
    const auto training = linear(run, {});
    run.enter(region).called(training).exit().shallow();
  }));
}

TEST_F(PhaseDtypeDriftTest, AnOperatorThatRaisedComputedNothing) {
  for (const bool raised : {false, true}) {
    const auto findings = judged([&](TestRun& run) {
      const auto region = run.region("train.py", 19);
      const auto training = linear(run, {});
      How how = validation();
      how.raised = raised;
      const auto evaluation = linear(run, how);
      run.enter(region).deep().called(training).exit().called(evaluation).shallow();
    });
    EXPECT_EQ(findings.size(), raised ? 0u : 1u);
  }
}

TEST_F(PhaseDtypeDriftTest, WhatOneFunctionEvaluatesIsOneFinding) {
  for (const bool one_function : {true, false}) {
    const auto findings = judged([&](TestRun& run) {
      const auto region = run.region("train.py", 19);
      const auto both = [&](How how) {
        for (const std::int64_t line : {8, 9}) {
          how.model_line = line;
          how.module = line == 8 ? "encoder" : "decoder";
          if (how.outside)
            how.between = {TestRun::own_frame(one_function || line == 8 ? "validate" : "sample", 25 + line)};
          run.called(linear(run, how));
        }
      };
      run.deep().enter(region);
      both({});
      run.exit();
      both(validation());
      run.shallow();
    });
    EXPECT_EQ(findings.size(), one_function ? 1u : 2u);
  }
}

TEST_F(PhaseDtypeDriftTest, AConvertedModel) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 19);
    const auto training = linear(run, {});
    How how = validation();
    how.weight = how.computed = kFloat16;
    const auto evaluation = linear(run, how);
    run.enter(region).deep().called(training).exit().called(evaluation).shallow();
  }));
}

TEST_F(PhaseDtypeDriftTest, AnotherModel) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 19);
    const auto training = linear(run, {});
    How how = validation();
    how.module = "teacher";
    const auto evaluation = linear(run, how);
    run.enter(region).deep().called(training).exit().called(evaluation).shallow();
  }));
}

TEST_F(PhaseDtypeDriftTest, ForwardOfAnOwnFunctionRunsWithoutGradMode) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 19);
    const auto training = linear(run, {});
    How how = validation();
    how.between = {TestRun::own_frame("Checkpoint.forward", 6),
                   TestRun::torch_frame("autograd/function.py", "Function.apply")};
    const auto inside = linear(run, how);
    run.enter(region).deep().called(training).exit().called(inside).shallow();
  }));
}

TEST_F(PhaseDtypeDriftTest, AnExportedModel) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 19);
    const auto training = linear(run, {});
    How how = validation();
    how.between = {TestRun::torch_frame("jit/_trace.py", "trace")};
    const auto traced = linear(run, how);
    run.enter(region).deep().called(training).exit().called(traced).shallow();
  }));
}

}  // namespace
}  // namespace castscope::rules::phase_dtype_drift
