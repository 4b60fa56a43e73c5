#include "server/rules/testing/rules_test.h"

namespace castscope::rules::compile_skips_rounding {
namespace {

using CompileSkipsRoundingTest = RulesTest;

TEST_F(CompileSkipsRoundingTest, AChainIsFused) {
  expect_golden("compile_skips_rounding_fused_chain", judged([](TestRun& run) {
                  run.seen(run.fact(FactKind::kCompileSkipsRounding, 5, {.text = ""}), 1);
                  run.seen(run.fact(FactKind::kCompileSkipsRounding, 6, {.text = ""}), 3);
                }));
}

TEST_F(CompileSkipsRoundingTest, NothingWasSeen) {
  expect_none(judged([](TestRun& run) { run.seen(run.fact(FactKind::kCompiled, 9, {.text = "0/0 f (t.py:5)"})); }));
}

}  // namespace
}  // namespace castscope::rules::compile_skips_rounding
