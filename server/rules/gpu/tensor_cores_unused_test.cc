#include <gmock/gmock.h>

#include "server/rules/evidence/operators/products.h"
#include "server/rules/testing/rules_test.h"

namespace castscope::rules::tensor_cores_unused {
namespace {

using lanes::MatmulCompute;
using testing::HasSubstr;

// A head of 50257 words: column-major, C (words × tokens) = Aᵀ · B.
store::MatmulCall head(std::uint32_t words, std::uint8_t align_c, std::uint8_t dtype = kBFloat16,
                       MatmulCompute compute = MatmulCompute::kFp32) {
  store::MatmulCall call = TestRun::product(words, 4096, 768, dtype, compute);
  call.flags = lanes::kMatmulTransposeA;
  call.lda = 768;
  call.align_c = align_c;
  return call;
}

class TensorCoresUnusedTest : public RulesTest {
 protected:
  static void run_product(TestRun& run, const store::MatmulCall& call, std::uint64_t ns = 900'000,
                          lanes::Phase phase = lanes::Phase::kForward) {
    const auto region = run.region("train.py", 5);
    const auto use =
        run.use({.op = "aten::linear", .line = 8, .operands = {operand(call.a)}, .phase = phase, .device = 1});
    run.enter(region).deep().timed(2).called(use, 2);
    run.launched(run.kernel({.name = "gemm", .use = use}), 2, ns);
    run.launched(run.kernel({.name = "other"}), 2, 500'000);
    run.seen(run.matmul(use, call), 2).shallow().exit();
  }
};

TEST_F(TensorCoresUnusedTest, AVocabularyThatIsNoMultipleOf8) {
  expect_golden("tensor_cores_unused_vocabulary_not_multiple_of_8",
                judged([](TestRun& run) { run_product(run, head(50257, 1)); }));
}

TEST_F(TensorCoresUnusedTest, PaddedItIsRight) {
  expect_none(judged([](TestRun& run) { run_product(run, head(50304, 7)); }));
}

TEST_F(TensorCoresUnusedTest, Tf32WantsMultiplesOf4) {
  const auto findings = judged([](TestRun& run) { run_product(run, head(50258, 3, kFloat32, MatmulCompute::kTf32)); });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_THAT(findings[0].title, HasSubstr("not a multiple of 4"));
  EXPECT_THAT(findings[0].fix, HasSubstr("to 50260"));
}

TEST_F(TensorCoresUnusedTest, AMatrixThatBeginsInBetween) {
  const auto findings = judged([](TestRun& run) {
    store::MatmulCall call = head(50304, 7);
    call.align_b = 1;
    run_product(run, call);
  });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_THAT(findings[0].title, HasSubstr("do not begin at a multiple of 16 bytes"));
  EXPECT_THAT(findings[0].fix, HasSubstr("contiguous"));
}

// No Tensor Core computes in true float32, whatever its alignment; a vector waits for memory.
TEST_F(TensorCoresUnusedTest, ThatAreNoProductsForTensorCores) {
  expect_none(judged([](TestRun& run) { run_product(run, head(50257, 2, kFloat32)); }));
  expect_none(judged([](TestRun& run) {
    store::MatmulCall call = head(50257, 1);
    call.n = 1;
    run_product(run, call);
  }));
}

TEST_F(TensorCoresUnusedTest, ThatTakeLittleTimeOrCannotBePadded) {
  expect_none(judged([](TestRun& run) { run_product(run, head(50257, 1), 5000); }));
  expect_none(judged([](TestRun& run) { run_product(run, head(50257, 1), 900'000, lanes::Phase::kBackward); }));
}

TEST(ProductsTest, SayWhatTheyComputeIn) {
  const auto words = [](std::uint8_t dtype, MatmulCompute compute) {
    return computed_in(TestRun::product(8, 8, 8, dtype, compute));
  };
  EXPECT_EQ(words(kBFloat16, MatmulCompute::kFp32), "bf16, fp32 accumulation");
  EXPECT_EQ(words(kFloat16, MatmulCompute::kFp32), "fp16, fp32 accumulation");
  EXPECT_EQ(words(24, MatmulCompute::kFp32), "fp8, fp32 accumulation");
  EXPECT_EQ(words(kFloat16, MatmulCompute::kFp16), "fp16 accumulation");
  EXPECT_EQ(words(kFloat32, MatmulCompute::kFp32), "true fp32");
  EXPECT_EQ(words(kFloat32, MatmulCompute::kTf32), "TF32");
  EXPECT_EQ(words(kFloat32, MatmulCompute::kFastBf16), "fp32 rounded to bf16");
  EXPECT_EQ(words(store::kFloat64, MatmulCompute::kFp64), "fp64");
  EXPECT_EQ(words(kFloat32, MatmulCompute::kUnknown), "not known");
}

TEST(ProductsTest, NameTheDimensionThatLiesAlongTheColumns) {
  store::MatmulCall call = head(50257, 1);
  call.align_a = 2;
  const auto all = misaligned(call);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].matrix, 'A');
  EXPECT_EQ(all[0].dimension, 'k') << "A is transposed";
  EXPECT_EQ(all[0].bytes, 4u);
  EXPECT_FALSE(all[0].by_size());
  EXPECT_EQ(all[1].matrix, 'C');
  EXPECT_EQ(all[1].dimension, 'm');
  EXPECT_TRUE(all[1].by_size());
  EXPECT_EQ(all[1].padded(), 50264u);
  EXPECT_EQ(sizes_of(call), "50257 × 4096 × 768");
  call.batch = 12;
  EXPECT_EQ(sizes_of(call), "12 of 50257 × 4096 × 768");
  call.m = 0;
  EXPECT_EQ(sizes_of(call), "many sizes");
  EXPECT_TRUE(misaligned(call).empty()) << "not told of each";
}

}  // namespace
}  // namespace castscope::rules::tensor_cores_unused
