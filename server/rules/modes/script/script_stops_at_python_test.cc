#include "server/rules/testing/rules_test.h"

namespace castscope::rules::script_stops_at_python {
namespace {

using ScriptStopsAtPythonTest = RulesTest;

store::TestUse product(std::uint8_t computed) {
  return {.op = "aten::mm",
          .line = 8,
          .operands = {operand(kFloat32), operand(kFloat32)},
          .computed = computed,
          .flags = lanes::kUseEligible};
}

TEST_F(ScriptStopsAtPythonTest, X30_PythonIsCalledInARegionOfAScript) {
  expect_golden("script_stops_at_python_called_in_region", judged([](TestRun& run) {
                  const auto use = run.use(product(kFloat32));
                  run.called(use, 3);
                  run.seen(run.fact(FactKind::kScriptStopsAtPython, 5, {.subject = use, .text = ""}, "net.py"), 3);
                }));
}

TEST_F(ScriptStopsAtPythonTest, X30_WhatItComputesIsNothingForAutocast) {
  expect_none(judged([](TestRun& run) {
    const auto use = run.use({.op = "aten::relu", .line = 8, .operands = {operand(kFloat32)}});
    run.called(use, 3);
    run.seen(run.fact(FactKind::kScriptStopsAtPython, 5, {.subject = use, .text = ""}, "net.py"), 3);
  }));
}

}  // namespace
}  // namespace castscope::rules::script_stops_at_python
