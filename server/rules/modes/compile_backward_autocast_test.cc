#include "server/rules/rules_test.h"

namespace castscope::rules {
namespace {

using CompileBackwardAutocastTest = RulesTest;

void cast_in_backward(TestRun& run) {
  run.seen(run.fact(FactKind::kCompileCastsBackward, 8, {.detail = kBFloat16, .text = "aten::mm"}), 2);
}

TEST_F(CompileBackwardAutocastTest, C17_BackwardIsCalledOutside) {
  expect_golden("C-17", judged([](TestRun& run) {
                  cast_in_backward(run);
                  run.seen(run.fact(FactKind::kBackward, 14, {.text = ""}));
                }));
}

// region-contains-backward has a word on that.
TEST_F(CompileBackwardAutocastTest, C17_BackwardIsCalledInTheRegion) {
  expect_none_of("compile-backward-autocast", judged([](TestRun& run) {
                   cast_in_backward(run);
                   run.seen(run.fact(FactKind::kBackward, 14, {.subject = run.region("train.py", 12), .text = ""}));
                 }));
}

TEST_F(CompileBackwardAutocastTest, C17_NothingIsCastInBackward) {
  expect_none(judged([](TestRun& run) { run.seen(run.fact(FactKind::kBackward, 14, {.text = ""})); }));
}

}  // namespace
}  // namespace castscope::rules
