#include "server/rules/testing/rules_test.h"

namespace castscope::rules::compile_backward_autocast {
namespace {

using CompileBackwardAutocastTest = RulesTest;

TEST_F(CompileBackwardAutocastTest, BackwardRunsOutside) {
  expect_golden("compile_backward_autocast_backward_outside_region", judged([](TestRun& run) {
                  run.seen(run.fact(FactKind::kCompileCastsBackward, 8, {.detail = kBFloat16, .text = "aten::mm"}), 2);
                }));
}

TEST_F(CompileBackwardAutocastTest, NothingWasSeen) {
  expect_none(judged([](TestRun& run) { run.seen(run.fact(FactKind::kBackward, 14, {.text = ""})); }));
}

}  // namespace
}  // namespace castscope::rules::compile_backward_autocast
