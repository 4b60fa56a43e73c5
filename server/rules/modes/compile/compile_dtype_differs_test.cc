#include "server/rules/testing/rules_test.h"

namespace castscope::rules::compile_dtype_differs {
namespace {

using CompileDtypeDiffersTest = RulesTest;

std::uint32_t product(TestRun& run, std::uint8_t dtype, bool compiled, const std::string& op) {
  return run.use({.op = op,
                  .line = 8,
                  .operands = {operand(dtype)},
                  .flags = compiled ? lanes::kUseCompiled : std::uint16_t{0},
                  .file = "net.py"});
}

TEST_F(CompileDtypeDiffersTest, TheCompilerHasItsOwn) {
  expect_golden("compile_dtype_differs_compiler_casts_itself", judged([](TestRun& run) {
                  const auto region = run.region("train.py", 5);
                  const auto eager = product(run, kBFloat16, false, "aten::linear");
                  run.enter(region).deep().called(eager).called(product(run, kFloat16, true, "aten::addmm"));
                  run.shallow().exit();
                }));
}

TEST_F(CompileDtypeDiffersTest, TheSameDtype) {
  expect_none(judged([](TestRun& run) {
    const auto eager = product(run, kBFloat16, false, "aten::linear");
    run.enter(run.region("train.py", 5)).deep().called(eager);
    run.called(product(run, kBFloat16, true, "aten::addmm")).shallow().exit();
  }));
}

TEST_F(CompileDtypeDiffersTest, AnotherOperatorOfTheLine) {
  expect_none(judged([](TestRun& run) {
    const auto eager = product(run, kBFloat16, false, "aten::linear");
    run.enter(run.region("train.py", 5)).deep().called(eager);
    run.called(product(run, kFloat32, true, "aten::exp")).shallow().exit();
  }));
}

}  // namespace
}  // namespace castscope::rules::compile_dtype_differs
