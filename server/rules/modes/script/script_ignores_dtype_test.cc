#include "server/rules/testing/rules_test.h"

namespace castscope::rules::script_ignores_dtype {
namespace {

using ScriptIgnoresDtypeTest = RulesTest;

TEST_F(ScriptIgnoresDtypeTest, X09_TheDefaultIsTaken) {
  expect_golden("script_ignores_dtype_default_taken", judged([](TestRun& run) {
                  run.seen(run.fact(FactKind::kScriptIgnoresDtype, 7, {.detail = kBFloat16, .text = ""}, "net.py"));
                }));
}

TEST_F(ScriptIgnoresDtypeTest, X09_ADefinitionThatNeverCameToPass) {
  expect_none(judged(
      [](TestRun& run) { run.fact(FactKind::kScriptIgnoresDtype, 7, {.detail = kBFloat16, .text = ""}, "net.py"); }));
}

}  // namespace
}  // namespace castscope::rules::script_ignores_dtype
