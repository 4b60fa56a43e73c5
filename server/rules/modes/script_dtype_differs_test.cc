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

}  // namespace
}  // namespace castscope::rules
