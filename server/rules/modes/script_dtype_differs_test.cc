#include "server/rules/rules_test.h"

namespace castscope::rules {
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

TEST_F(ScriptDtypeDiffersTest, C16_LayerNorm) {
  expect_golden("C-16", judged([](TestRun& run) {
                  const auto region = run.region("train.py", 5);
                  const auto eager = norm(run, kBFloat16, false);
                  const auto script = norm(run, kFloat32, true, "aten::native_layer_norm");
                  run.enter(region).deep().called(eager).called(script).shallow().exit();
                }));
}

TEST_F(ScriptDtypeDiffersTest, C16_TheSameDtype) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    run.enter(region).deep().called(norm(run, kBFloat16, false)).called(norm(run, kBFloat16, true)).shallow().exit();
  }));
}

TEST_F(ScriptDtypeDiffersTest, C16_NoEagerRun) {
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

std::uint32_t raised(TestRun& run, lanes::Cause cause) {
  return run.site({.stack = run.line("net.py", 8),
                   .call_site = run.call_site("aten::mul.Scalar", 0, "self"),
                   .region = run.region("train.py", 5),
                   .op = "",
                   .role = Role::kActivation,
                   .cause = cause,
                   .why = WhyNotCached::kNotAutocast,
                   .phase = lanes::Phase::kForward,
                   .from = kBFloat16,
                   .to = kFloat32});
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

}  // namespace
}  // namespace castscope::rules
