#include "server/rules/testing/rules_test.h"

namespace castscope::rules::export_dtype_differs {
namespace {

using ExportDtypeDiffersTest = RulesTest;

std::uint32_t linear(TestRun& run, std::uint8_t dtype, bool exported, bool outside, int line = 8,
                     const char* op = "aten::linear") {
  std::uint32_t stack = run.line("net.py", line);
  if (exported)
    stack = run.stack({TestRun::own_frame("forward", line, "net.py"),
                       {lanes::kExportedProgram, "forward", 0},
                       TestRun::own_frame("<module>", 20)});
  return run.use({.op = op, .operands = {operand(dtype)}, .outside = outside, .stack = stack});
}

void ran_in_both(TestRun& run, std::uint8_t exported) {
  const auto region = run.region("train.py", 5);
  const auto eager = linear(run, kBFloat16, false, false);
  run.enter(region).deep().called(eager).exit().called(linear(run, exported, true, true)).shallow();
}

TEST_F(ExportDtypeDiffersTest, ALoadedProgramRunsOutside) {
  expect_golden("export_dtype_differs_loaded_program", judged([](TestRun& run) { ran_in_both(run, kFloat32); }));
}

TEST_F(ExportDtypeDiffersTest, TheSameDtype) {
  expect_none(judged([](TestRun& run) { ran_in_both(run, kBFloat16); }));
}

TEST_F(ExportDtypeDiffersTest, NoEagerRun) {
  expect_none(judged([](TestRun& run) { run.deep().called(linear(run, kFloat32, true, true)).shallow(); }));
}

TEST_F(ExportDtypeDiffersTest, LinesThatDifferForOneReasonAreToldTogether) {
  const auto found = judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto eager = linear(run, kBFloat16, false, false), next = linear(run, kBFloat16, false, false, 9);
    run.enter(region).deep().called(eager).called(next).exit();
    run.called(linear(run, kFloat32, true, true)).called(linear(run, kFloat32, true, true, 9)).shallow();
  });
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].location->line, 8);
  ASSERT_EQ(found[0].related.size(), 1u);
  EXPECT_EQ(found[0].related[0].line, 9);
}

TEST_F(ExportDtypeDiffersTest, InARegionEachLineHasAReasonOfItsOwn) {
  const auto found = judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto eager = linear(run, kBFloat16, false, false), next = linear(run, kBFloat16, false, false, 9);
    run.enter(region).deep().called(eager).called(next);
    run.called(linear(run, kFloat32, true, false)).called(linear(run, kFloat32, true, false, 9)).shallow().exit();
  });
  EXPECT_EQ(found.size(), 2u);
}

TEST_F(ExportDtypeDiffersTest, AutocastHasNoRuleForWhatAProgramWasTakenApartInto) {
  expect_golden("export_dtype_differs_decomposed_convolution", judged([](TestRun& run) {
                  const auto region = run.region("train.py", 5);
                  run.enter(region).deep().called(linear(run, kBFloat16, false, false, 8, "aten::conv1d"));
                  run.called(linear(run, kFloat32, true, false, 8, "aten::convolution")).shallow().exit();
                }));
}

}  // namespace
}  // namespace castscope::rules::export_dtype_differs
