#include "server/rules/testing/rules_test.h"

namespace castscope::rules::dtype_mixed_halves {
namespace {

using DtypeMixedHalvesTest = RulesTest;

TEST_F(DtypeMixedHalvesTest, X07_CatOfBoth) {
  expect_golden("dtype_mixed_halves_cat", judged([](TestRun& run) {
                  run.region("train.py", 5);
                  const auto use = run.use({.op = "aten::cat",
                                            .line = 9,
                                            .operands = {operand(kFloat16), operand(kBFloat16)},
                                            .flags = lanes::kUseEligible});
                  run.deep()
                      .called(use)
                      .seen(run.error(9, "Unexpected floating ScalarType in at::autocast::prioritize", use))
                      .shallow();
                }));
}

TEST_F(DtypeMixedHalvesTest, X07_TheSameHalves) {
  expect_none(judged([](TestRun& run) {
    run.region("train.py", 5);
    const auto use = run.use({.op = "aten::cat",
                              .line = 9,
                              .operands = {operand(kBFloat16), operand(kBFloat16)},
                              .flags = lanes::kUseEligible});
    run.deep().called(use).shallow();
  }));
}

}  // namespace
}  // namespace castscope::rules::dtype_mixed_halves
