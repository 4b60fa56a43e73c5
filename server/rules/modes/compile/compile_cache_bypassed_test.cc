#include "server/rules/testing/rules_test.h"

namespace castscope::rules::compile_cache_bypassed {
namespace {

using CompileCacheBypassedTest = RulesTest;

TEST_F(CompileCacheBypassedTest, ARegionInside) {
  expect_golden(
      "compile_cache_bypassed_region_inside", judged([](TestRun& run) {
        run.seen(run.fact(FactKind::kCompileBypassesCache, 9,
                          {.text = "Unsupported call_function target torch.amp.autocast_mode._enter_autocast"}));
      }));
}

TEST_F(CompileCacheBypassedTest, AnotherReason) {
  expect_none(judged([](TestRun& run) {
    run.seen(run.fact(FactKind::kCompileBypassesCache, 9, {.text = "custom op is not cacheable"}));
  }));
}

}  // namespace
}  // namespace castscope::rules::compile_cache_bypassed
