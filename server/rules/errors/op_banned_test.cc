#include "server/rules/rules_test.h"

namespace castscope::rules {
namespace {

using OpBannedTest = RulesTest;

constexpr char kText[] =
    "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast.\n"
    "Many models use a sigmoid layer right before the binary cross entropy layer.";

TEST_F(OpBannedTest, C43_BinaryCrossEntropyOnAGpu) {
  expect_golden("C-43", judged([](TestRun& run) {
                  store::RegionInfo gpu = TestRun::default_region();
                  gpu.device = 1;
                  gpu.dtype = kFloat16;
                  run.region("train.py", 5, gpu);
                  run.seen(run.error(9, kText), 3);
                }));
}

TEST_F(OpBannedTest, C43_WithLogits) {
  expect_none(judged([](TestRun& run) {
    run.region("train.py", 5);
    const auto use = run.use({.op = "aten::binary_cross_entropy_with_logits",
                              .line = 9,
                              .operands = {operand(kBFloat16), operand(kFloat32, Role::kInput)},
                              .computed = kFloat32,
                              .flags = lanes::kUseEligible});
    run.deep().called(use).shallow();
  }));
}

}  // namespace
}  // namespace castscope::rules
