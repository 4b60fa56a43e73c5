#include <gmock/gmock.h>

#include "server/rules/testing/rules_test.h"

namespace castscope::rules::op_inplace_or_out_skipped {
namespace {

using OpInplaceOrOutSkippedTest = RulesTest;

std::uint32_t addmm(TestRun& run, std::uint8_t of_product, std::uint8_t result = store::kNoDtype) {
  return run.use({.op = "aten::addmm_",
                  .line = 8,
                  .operands = {operand(kFloat32), operand(of_product), operand(kFloat32, Role::kInput)},
                  .computed = kFloat32,
                  .result = result,
                  .flags = lanes::kUseSiblingEligible | lanes::kUseWrites});
}

TEST_F(OpInplaceOrOutSkippedTest, InPlaceAndOut) {
  expect_golden("op_inplace_or_out_skipped_addmm_and_mm_out", judged([](TestRun& run) {
                  const auto region = run.region("train.py", 5);
                  const auto in_place = addmm(run, kFloat32);
                  const auto out = run.use({.op = "aten::mm.out",
                                            .line = 9,
                                            .operands = {operand(kFloat32), operand(kFloat32), operand(kFloat32)},
                                            .flags = lanes::kUseSiblingEligible | lanes::kUseWrites});
                  run.enter(region).deep().called(in_place, 2).called(out).exit();
                }));
}

TEST_F(OpInplaceOrOutSkippedTest, ThatRaisesIsAWarning) {
  const auto findings = judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto in_place = addmm(run, kBFloat16);
    const auto error = run.error(8, "expected m1 and m2 to have the same dtype", in_place);
    run.enter(region).deep().called(in_place).seen(error).exit();
  });
  const auto found = std::find_if(findings.begin(), findings.end(),
                                  [](const Finding& f) { return f.rule == "op-inplace-or-out-skipped"; });
  ASSERT_NE(found, findings.end());
  EXPECT_EQ(found->severity, "warning");
}

TEST_F(OpInplaceOrOutSkippedTest, InPlaceFormsOfWhatAutocastWouldNotLower) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto exp = run.use({.op = "aten::exp_",
                              .line = 8,
                              .operands = {operand(kFloat32)},
                              .flags = lanes::kUseSiblingEligible | lanes::kUseWrites});
    run.enter(region).deep().called(exp).exit();
  }));
}

TEST_F(OpInplaceOrOutSkippedTest, WhereAutocastIsOffAndWhereAllIsLow) {
  expect_none(judged([](TestRun& run) {
    auto off = TestRun::default_region();
    off.enabled = false;
    const auto disabled = run.region("train.py", 4, off);
    const auto in_float32 = addmm(run, kFloat32);
    const auto region = run.region("train.py", 5);
    const auto low = run.use({.op = "aten::mm.out",
                              .line = 9,
                              .operands = {operand(kBFloat16), operand(kBFloat16), operand(kBFloat16)},
                              .flags = lanes::kUseSiblingEligible | lanes::kUseWrites});
    run.deep().enter(disabled).called(in_float32).exit().enter(region).called(low).exit();
  }));
}

TEST_F(OpInplaceOrOutSkippedTest, AnErrorOfShapesIsNoneOfDtypes) {
  const auto findings = judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto in_place = addmm(run, kFloat32);
    const auto error = run.error(8, "mat1 and mat2 shapes cannot be multiplied (32x32 and 31x32)", in_place);
    run.enter(region).deep().called(in_place).seen(error).exit();
  });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].severity, "info");
  EXPECT_THAT(findings[0].title, testing::HasSubstr("runs in float32"));
}

TEST_F(OpInplaceOrOutSkippedTest, ARegionOfAnotherDeviceLiesBetween) {
  const auto findings = judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    auto other = TestRun::default_region();
    other.device = 1, other.dtype = kFloat16, other.parent = region;
    const auto inner = run.region("train.py", 6, other);
    const auto in_place = addmm(run, kFloat32);
    run.enter(region).enter(inner).deep().called(in_place).exit().exit();
  });
  const auto found = std::find_if(findings.begin(), findings.end(),
                                  [](const Finding& f) { return f.rule == "op-inplace-or-out-skipped"; });
  ASSERT_NE(found, findings.end());
  EXPECT_THAT(found->title, testing::HasSubstr("in a region of bfloat16"));
}

}  // namespace
}  // namespace castscope::rules::op_inplace_or_out_skipped
