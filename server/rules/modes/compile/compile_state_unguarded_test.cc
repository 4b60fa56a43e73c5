#include "server/rules/testing/rules_test.h"

namespace castscope::rules::compile_state_unguarded {
namespace {

using CompileStateUnguardedTest = RulesTest;

TEST_F(CompileStateUnguardedTest, X11_TheDefaultHasChanged) {
  expect_golden("compile_state_unguarded_default_changed", judged([](TestRun& run) {
                  run.seen(run.fact(FactKind::kCompileStateUnguarded, 5, {.detail = kBFloat16, .text = ""}), 2);
                }));
}

TEST_F(CompileStateUnguardedTest, X11_NothingWasSeen) {
  expect_none(judged([](TestRun& run) { run.seen(run.fact(FactKind::kCompiled, 9, {.text = "0/0 f (t.py:5)"})); }));
}

}  // namespace
}  // namespace castscope::rules::compile_state_unguarded
