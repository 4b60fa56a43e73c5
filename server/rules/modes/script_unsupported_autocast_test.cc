#include "server/rules/rules_test.h"

namespace castscope::rules {
namespace {

using ScriptUnsupportedAutocastTest = RulesTest;

TEST_F(ScriptUnsupportedAutocastTest, S26_EnabledIsNoConstant) {
  expect_golden("S-26", judged([](TestRun& run) {
                  run.seen(run.fact(FactKind::kScriptRefused, 7,
                                    {.text = "Autocast _enabled argument must be a constant"}, "net.py"));
                }));
}

TEST_F(ScriptUnsupportedAutocastTest, S25_ADecorator) {
  expect_golden("S-25", judged([](TestRun& run) {
                  run.seen(run.error(9, "TorchScript error: @autocast() decorator is not supported in script mode"));
                }));
}

TEST_F(ScriptUnsupportedAutocastTest, AnotherErrorOfAScript) {
  expect_none(judged([](TestRun& run) { run.seen(run.error(9, "TorchScript error: something else")); }));
}

}  // namespace
}  // namespace castscope::rules
