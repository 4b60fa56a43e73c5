#include "server/rules/testing/rules_test.h"

namespace castscope::rules::script_dtype_differs {
namespace {

using ScriptDtypeDiffersTest = RulesTest;

std::uint32_t norm(TestRun& run, std::uint8_t dtype, bool script, const std::string& op = "aten::layer_norm",
                   std::int64_t line = 8) {
  return run.use({.op = op,
                  .line = line,
                  .operands = {operand(dtype)},
                  .flags = script ? lanes::kUseScript : std::uint16_t{0},
                  .file = "net.py"});
}

TEST_F(ScriptDtypeDiffersTest, LayerNorm) {
  expect_golden("script_dtype_differs_layer_norm", judged([](TestRun& run) {
                  const auto region = run.region("train.py", 5);
                  const auto eager = norm(run, kBFloat16, false);
                  const auto script = norm(run, kFloat32, true, "aten::native_layer_norm");
                  run.enter(region).deep().called(eager).called(script).shallow().exit();
                }));
}

TEST_F(ScriptDtypeDiffersTest, TheSameDtype) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    run.enter(region).deep().called(norm(run, kBFloat16, false)).called(norm(run, kBFloat16, true)).shallow().exit();
  }));
}

TEST_F(ScriptDtypeDiffersTest, NoEagerRun) {
  expect_none(judged([](TestRun& run) {
    run.enter(run.region("train.py", 5)).deep().called(norm(run, kFloat32, true)).shallow().exit();
  }));
}

TEST_F(ScriptDtypeDiffersTest, WhatFollowsIsToldWithIt) {
  const auto found = judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto eager = norm(run, kBFloat16, false), eager_add = norm(run, kBFloat16, false, "aten::add", 9);
    const auto script = norm(run, kFloat32, true), script_add = norm(run, kFloat32, true, "aten::add", 9);
    run.enter(region).deep().called(eager).called(eager_add).called(script).called(script_add);
    run.flowed(run.flow(script, script_add)).shallow().exit();
  });
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].location->line, 8);
}

std::uint32_t raised(TestRun& run, lanes::Cause cause, const std::string& op = "aten::mul.Scalar") {
  return run.site({.stack = run.line("net.py", 8),
                   .call_site = run.call_site(op, 0, "self"),
                   .region = run.region("train.py", 5),
                   .op = "",
                   .role = Role::kActivation,
                   .cause = cause,
                   .why = WhyNotCached::kNotAutocast,
                   .phase = lanes::Phase::kForward,
                   .from = kBFloat16,
                   .to = kFloat32});
}

std::uint32_t in_script(TestRun& run, const std::string& op, std::vector<lanes::Operand> operands,
                        std::uint8_t device = 0, std::uint16_t flags = 0, std::uint8_t computed = 0xff) {
  return run.use({.op = op,
                  .line = 8,
                  .operands = std::move(operands),
                  .computed = computed,
                  .flags = static_cast<std::uint16_t>(lanes::kUseScript | flags),
                  .file = "net.py",
                  .device = device});
}

std::uint32_t script_region(TestRun& run, std::uint8_t dtype = kBFloat16, std::uint8_t device = 0) {
  store::RegionInfo region = TestRun::default_region();
  region.kind = lanes::RegionKind::kScript;
  region.dtype = dtype;
  region.device = device;
  return run.region("net.py", 7, region);
}

lanes::Operand raised_from(std::uint8_t dtype) { return store::entering(kFloat32, operand(dtype)); }

// Calls an addition in a script `both` times with bfloat16 in both arguments, and `one` times with float32 in one of
// them.
void added(TestRun& run, std::uint64_t both, std::uint64_t one) {
  const auto region = script_region(run);
  const auto low = in_script(run, "aten::add.Tensor", {raised_from(kBFloat16), raised_from(kBFloat16)}, 0, 0, kFloat32);
  const auto mixed = in_script(run, "aten::add.Tensor", {operand(kFloat32), raised_from(kBFloat16)}, 0, 0, kFloat32);
  run.enter(region).deep();
  if (both > 0) run.called(low, both);
  if (one > 0) run.called(mixed, one);
  run.shallow().exit();
}

TEST_F(ScriptDtypeDiffersTest, TheScriptAlonePromotes) {
  expect_golden("script_dtype_differs_script_promotes", judged([](TestRun& run) {
                  added(run, 10, 0);
                  run.cast(raised(run, lanes::Cause::kScript, "aten::add.Tensor"), kOther);
                }));
}

TEST_F(ScriptDtypeDiffersTest, AFloat32OperandInEachCall) {
  expect_none(judged([](TestRun& run) { added(run, 0, 10); }));
}

TEST_F(ScriptDtypeDiffersTest, AFloat32OperandInSomeCalls) {
  const auto found = judged([](TestRun& run) { added(run, 7, 3); });
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].evidence_number.front(), std::make_pair(std::string("calls"), std::int64_t{7}));
}

// softmax: eager autocast brings it to float32 on a GPU, and leaves it alone on a CPU.
void softmaxed(TestRun& run, std::uint8_t device) {
  const auto region = script_region(run, kBFloat16, device);
  const auto softmax = in_script(run, "aten::softmax.int", {raised_from(kBFloat16)}, device, 0, kFloat32);
  run.enter(region).deep().called(softmax).shallow().exit();
}

TEST_F(ScriptDtypeDiffersTest, ListsOfItsOwn) {
  EXPECT_EQ(judged([](TestRun& run) { softmaxed(run, 0); }).size(), 1u);
  expect_none(judged([](TestRun& run) { softmaxed(run, 1); }));
}

// A reduction in float16 that eager autocast runs in float32: fp32_append_dtype.
void normed(TestRun& run, std::uint8_t device, std::uint8_t dtype, const std::string& op = "aten::norm.ScalarOpt_dim") {
  const auto region = script_region(run, kFloat16, device);
  run.enter(region).deep().called(in_script(run, op, {operand(dtype)}, device), 3).shallow().exit();
}

TEST_F(ScriptDtypeDiffersTest, APolicyThatScriptsDoNotHave) {
  expect_golden("script_dtype_differs_norm_not_cast", judged([](TestRun& run) { normed(run, 1, kFloat16); }));
}

TEST_F(ScriptDtypeDiffersTest, GivenFloat32OrOnACpu) {
  expect_none(judged([](TestRun& run) { normed(run, 1, kFloat32); }));
  expect_none(judged([](TestRun& run) { normed(run, 0, kFloat16); }));
}

// Python code that the script calls may run the operator: the pass knows softmax, and has not cast here.
TEST_F(ScriptDtypeDiffersTest, AnOperatorThatThePassKnows) {
  expect_none(judged([](TestRun& run) { normed(run, 1, kFloat16, "aten::softmax.int"); }));
}

TEST_F(ScriptDtypeDiffersTest, InARegionAroundTheScriptEagerAutocastIsThere) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto pool = in_script(run, "aten::avg_pool3d", {operand(kBFloat16)}, 0, lanes::kUseEligible);
    run.enter(region).deep().called(pool).shallow().exit();
  }));
}

TEST_F(ScriptDtypeDiffersTest, AProductThatThePassDoesNotKnow) {
  const auto found = judged([](TestRun& run) {
    const auto region = script_region(run);
    const auto up =
        in_script(run, "aten::conv_transpose2d.input", {operand(kFloat32), operand(kFloat32)}, 0, lanes::kUseEligible);
    run.enter(region).deep().called(up).shallow().exit();
  });
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].rule, "script-dtype-differs");
  EXPECT_EQ(found[0].severity, "warning");
}

void ran_with_both_dtypes(TestRun& run) {
  const auto low = norm(run, kBFloat16, false, "aten::mul"), wide = norm(run, kFloat32, false, "aten::mul");
  const auto script = norm(run, kFloat32, true, "aten::mul");
  run.enter(run.region("train.py", 5)).deep().called(low).called(wide).called(script).shallow().exit();
}

TEST_F(ScriptDtypeDiffersTest, OfSeveralInputsTheLowOnesAreRaised) {
  const auto found = judged([](TestRun& run) {
    run.cast(raised(run, lanes::Cause::kScript), kOther);
    ran_with_both_dtypes(run);
  });
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].rule, "script-dtype-differs");
  EXPECT_EQ(found[0].location->line, 8);
}

TEST_F(ScriptDtypeDiffersTest, EagerCodeRaisesThemToo) {
  expect_none(judged([](TestRun& run) {
    run.cast(raised(run, lanes::Cause::kScript), kOther).cast(raised(run, lanes::Cause::kPromotion), kOther);
    ran_with_both_dtypes(run);
  }));
}

TEST_F(ScriptDtypeDiffersTest, EagerCodeRanInAndOutsideOfRegions) {
  expect_none(judged([](TestRun& run) {
    const auto outside = [&](bool script) {
      return run.use({.op = "aten::layer_norm",
                      .line = 8,
                      .operands = {operand(kFloat32)},
                      .flags = script ? lanes::kUseScript : std::uint16_t{0},
                      .file = "net.py",
                      .outside = true});
    };
    run.enter(run.region("train.py", 5)).deep();
    run.called(norm(run, kBFloat16, false)).called(norm(run, kBFloat16, true)).exit();
    run.called(outside(false)).called(outside(true)).shallow();
  }));
}

// The finding gives the cause beside an eager run as well as without one.
TEST_F(ScriptDtypeDiffersTest, TheCauseIsToldWherePythonRanItToo) {
  const auto found = judged([](TestRun& run) {
    const auto eager_region = run.region("train.py", 5);
    const auto eager = norm(run, kBFloat16, false, "aten::add.Tensor");
    const auto region = script_region(run);
    const auto script =
        in_script(run, "aten::add.Tensor", {raised_from(kBFloat16), raised_from(kBFloat16)}, 0, 0, kFloat32);
    run.enter(eager_region).deep().called(eager).shallow().exit();
    run.enter(region).deep().called(script).shallow().exit();
  });
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].title,
            "add computes in float32 where TorchScript runs it, in bfloat16 in Python: TorchScript's autocast promotes "
            "where it does not know the dtypes");
}

TEST_F(ScriptDtypeDiffersTest, SeveralOperatorsOfALine) {
  const auto found = judged([](TestRun& run) {
    const auto eager_region = run.region("train.py", 5);
    const auto eager_exp = norm(run, kBFloat16, false, "aten::exp"),
               eager_sum = norm(run, kBFloat16, false, "aten::sum");
    const auto region = script_region(run);
    const auto exp = in_script(run, "aten::exp", {raised_from(kBFloat16)}, 0, 0, kFloat32);
    const auto sum = in_script(run, "aten::sum", {raised_from(kBFloat16)}, 0, 0, kFloat32);
    run.enter(eager_region).deep().called(eager_exp).called(eager_sum).shallow().exit();
    run.enter(region).deep().called(exp).called(sum).shallow().exit();
  });
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(
      found[0].title,
      "exp, sum compute in float32 where TorchScript runs them, in bfloat16 in Python: TorchScript's autocast has "
      "them on its list");
}

TEST_F(ScriptDtypeDiffersTest, WhatRaisedComputedNothing) {
  expect_none_of("script-dtype-differs", judged([](TestRun& run) {
                   const auto region = run.region("train.py", 5);
                   const auto eager = norm(run, kFloat32, false, "aten::fft_fft");
                   const auto script = run.use({.op = "aten::fft_fft",
                                                .line = 8,
                                                .operands = {operand(kBFloat16)},
                                                .flags = lanes::kUseScript,
                                                .file = "net.py",
                                                .raised = true});
                   run.enter(region).deep().called(eager).called(script).shallow().exit();
                 }));
}

// A line whose autocast is off without effect gives a value in another dtype: its consumer differs for that reason.
void takes_what_was_cast(TestRun& run, bool though_off) {
  const auto region = run.region("train.py", 5);
  const auto eager = norm(run, kFloat32, false, "aten::cat");
  const auto made = run.use({.op = "aten::linear",
                             .line = 7,
                             .operands = {operand(kBFloat16)},
                             .flags = lanes::kUseScript,
                             .file = "net.py"});
  const auto script = norm(run, kBFloat16, true, "aten::cat");
  run.enter(region).deep().called(eager).called(made).called(script).flowed(run.flow(made, script)).shallow().exit();
  if (though_off) run.seen(run.fact(FactKind::kScriptIgnoresDisable, 7, {.text = "net.py:6"}, "net.py"));
}

TEST_F(ScriptDtypeDiffersTest, WhatFollowsAnIgnoredDisableIsToldThere) {
  EXPECT_EQ(judged([](TestRun& run) { takes_what_was_cast(run, false); }).size(), 1u);
  expect_none_of("script-dtype-differs", judged([](TestRun& run) { takes_what_was_cast(run, true); }));
}

}  // namespace
}  // namespace castscope::rules::script_dtype_differs
