#include "server/rules/testing/rules_test.h"

namespace castscope::rules::trace_caches_weight {
namespace {

using TraceCachesWeightTest = RulesTest;

constexpr const char* kText = "Cannot insert a Tensor that requires grad as a constant. Consider making it a parameter";

std::uint32_t error_in(TestRun& run, bool traced) {
  std::vector<store::CodeLocation> frames = {TestRun::own_frame("Net.forward", 8, "net.py")};
  if (traced) frames.push_back(TestRun::torch_frame("jit/_trace.py", "trace_module"));
  frames.push_back(TestRun::own_frame("<module>", 12));
  return run.fact_at(FactKind::kError, run.stack(frames), {.text = kText});
}

TEST_F(TraceCachesWeightTest, TracedInARegion) {
  expect_golden("trace_caches_weight_traced_in_region", judged([](TestRun& run) { run.seen(error_in(run, true)); }));
}

TEST_F(TraceCachesWeightTest, RaisedElsewhere) {
  expect_none(judged([](TestRun& run) { run.seen(error_in(run, false)); }));
}

}  // namespace
}  // namespace castscope::rules::trace_caches_weight
