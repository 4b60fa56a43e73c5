#include "server/rules/testing/rules_test.h"

namespace castscope::rules::matmul_full_precision {
namespace {

using lanes::MatmulCompute;

class MatmulFullPrecisionTest : public RulesTest {
 protected:
  static store::RegionInfo cuda_region() {
    store::RegionInfo region = TestRun::default_region();
    region.device = 1;
    return region;
  }
  struct Product {
    std::string op = "aten::mm.out";
    std::uint16_t flags = lanes::kUseSiblingEligible | lanes::kUseWrites;
    std::uint8_t dtype = kFloat32;
    MatmulCompute compute = MatmulCompute::kFp32;
    std::uint64_t ns = 900'000;
    bool outside = false;
  };
  static void run_product(TestRun& run, const Product& product) {
    const auto region = run.region("train.py", 5, cuda_region());
    const auto use = run.use({.op = product.op,
                              .line = 8,
                              .operands = {operand(product.dtype), operand(product.dtype)},
                              .flags = product.flags,
                              .outside = product.outside,
                              .device = 1});
    run.enter(region).deep().timed(3).called(use, 3);
    if (product.ns > 0) run.launched(run.kernel({.name = "gemm", .use = use}), 3, product.ns);
    run.launched(run.kernel({.name = "other"}), 3, 100'000);
    run.seen(run.matmul(use, TestRun::product(2048, 2048, 2048, product.dtype, product.compute)), 3);
    run.shallow().exit();
  }
  static std::string why(const std::vector<Finding>& findings) {
    for (const Finding& finding : findings)
      for (const auto& [name, text] : finding.evidence_text)
        if (finding.rule == "matmul-full-precision" && name == "why_full_precision") return text;
    return "";
  }
};

TEST_F(MatmulFullPrecisionTest, AnOutVariant) {
  auto findings = judged([](TestRun& run) { run_product(run, {}); });
  std::erase_if(findings, [](const Finding& finding) { return finding.rule != "matmul-full-precision"; });
  expect_golden("matmul_full_precision_out_variant", findings);
}

TEST_F(MatmulFullPrecisionTest, SaysWhyAutocastLeftIt) {
  EXPECT_EQ(why(judged([](TestRun& run) { run_product(run, {.op = "aten::cdist", .flags = lanes::kUseEligible}); })),
            "autocast's policy runs cdist in float32");
  EXPECT_EQ(why(judged([](TestRun& run) { run_product(run, {.op = "aten::einsum", .flags = lanes::kUseElsewhere}); })),
            "autocast knows einsum on other devices only");
  EXPECT_EQ(why(judged([](TestRun& run) { run_product(run, {.op = "mylib::mm", .flags = 0}); })),
            "autocast of cuda does not know mylib::mm");
}

TEST_F(MatmulFullPrecisionTest, InLowPrecisionOrTf32) {
  expect_none_of("matmul-full-precision", judged([](TestRun& run) { run_product(run, {.dtype = kBFloat16}); }));
  expect_none_of("matmul-full-precision",
                 judged([](TestRun& run) { run_product(run, {.compute = MatmulCompute::kTf32}); }));
}

TEST_F(MatmulFullPrecisionTest, OutsideTheRegion) {
  expect_none_of("matmul-full-precision", judged([](TestRun& run) { run_product(run, {.outside = true}); }));
}

TEST_F(MatmulFullPrecisionTest, NotTimedOrShort) {
  expect_none_of("matmul-full-precision", judged([](TestRun& run) { run_product(run, {.ns = 0}); }));
  expect_none_of("matmul-full-precision", judged([](TestRun& run) { run_product(run, {.ns = 500}); }));
}

}  // namespace
}  // namespace castscope::rules::matmul_full_precision
