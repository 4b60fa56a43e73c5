#include "server/rules/testing/rules_test.h"

namespace castscope::rules::thread_wrong_dtype {
namespace {

using ThreadWrongDtypeTest = RulesTest;

// Backward is called in a float16 region; its thread has autocast on with this dtype.
void backward_in(TestRun& run, std::uint8_t dtype, bool called_in_region = true) {
  auto info = TestRun::default_region();
  info.dtype = kFloat16;
  const auto region = run.region("train.py", 5, info);
  const auto call =
      run.fact(FactKind::kBackward, 12, {.subject = called_in_region ? region : 0, .detail = 1, .text = ""});
  auto inherited = TestRun::default_region();
  inherited.kind = lanes::RegionKind::kInherited;
  inherited.nesting = 0;
  inherited.dtype = dtype;
  inherited.stack = run.line("train.py", 19);
  run.region("train.py", 0, inherited);
  const auto use = run.use({.op = "aten::mm",
                            .line = 20,
                            .operands = {operand(kFloat32), operand(kFloat32)},
                            .computed = dtype,
                            .flags = lanes::kUseEligible,
                            .phase = lanes::Phase::kBackward,
                            .node = "ProductBackward"});
  run.deep().enter(region).seen(call).lane(2).called(use, 3).lane(1).exit();
}

TEST_F(ThreadWrongDtypeTest, BackwardThreadHasAnotherDtype) {
  expect_golden("thread_wrong_dtype_backward_thread", judged([](TestRun& run) { backward_in(run, kBFloat16); }));
}

TEST_F(ThreadWrongDtypeTest, TheDtypeIsHandedDown) {
  expect_none(judged([](TestRun& run) { backward_in(run, kFloat16); }));
}

TEST_F(ThreadWrongDtypeTest, BackwardCalledElsewhereToo) {
  expect_none(judged([](TestRun& run) { backward_in(run, kBFloat16, /*called_in_region=*/false); }));
}

}  // namespace
}  // namespace castscope::rules::thread_wrong_dtype
