#include "server/rules/rules_test.h"

namespace castscope::rules {
namespace {

using ScriptDropsDecoratorTest = RulesTest;

TEST_F(ScriptDropsDecoratorTest, S25_OfAMethod) {
  expect_golden("S-25m", judged([](TestRun& run) {
                  run.seen(run.fact(FactKind::kScriptDropsDecorator, 7,
                                    {.text = "autocast(\"cpu\", dtype=torch.bfloat16)"}, "net.py"),
                           2);
                }));
}

TEST_F(ScriptDropsDecoratorTest, AScriptThatIsRefusedForAnotherReason) {
  for (const Finding& finding : judged([](TestRun& run) {
         run.seen(run.fact(FactKind::kScriptRefused, 7, {.text = "must be a constant"}, "net.py"));
       }))
    EXPECT_NE(finding.rule, "script-drops-decorator");
}

}  // namespace
}  // namespace castscope::rules
