#include "agent/matmuls/cublas_calls.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "agent/matmuls/fakes/cublas_double.h"
#include "agent/matmuls/matmul_call.h"

namespace castscope::matmuls {

static std::vector<MatmulCall> g_told;
void matmul_called(const MatmulCall& call) noexcept { g_told.push_back(call); }

namespace {

using lanes::MatmulCompute;
using namespace cublas;  // NOLINT(google-build-using-namespace)

imports::Import& import_of(std::string_view name) {
  for (imports::Import& import : cublas_imports())
    if (name == import.symbol) return import;
  ADD_FAILURE() << name << " is not replaced";
  return cublas_imports()[0];
}

// Stands for any function, and keeps the bits of its arguments.
std::vector<std::uint64_t> g_arguments;
template <typename T>
std::uint64_t bits(T value) {
  std::uint64_t result = 0;
  std::memcpy(&result, &value, sizeof value);
  return result;
}
template <typename... Args>
Status keep(Args... args) {
  g_arguments = {bits(args)...};
  return static_cast<Status>(13);
}
template <typename T>
T argument(std::uint64_t n) {
  if constexpr (std::is_pointer_v<T>)
    return reinterpret_cast<T>(n << 32 | n);
  else
    return static_cast<T>(n | (sizeof(T) == 8 ? n << 40 : 0));
}

template <typename... Args>
void expect_passed_on(imports::Import& import, Status (*)(Args...)) {
  import.original = reinterpret_cast<void*>(&keep<Args...>);
  std::uint64_t n = 1000;
  const auto next = [&n] { return ++n; };
  const std::tuple<Args...> arguments{argument<Args>(next())...};  // braces: from left to right
  const auto expected = std::apply([](Args... args) { return std::vector{bits(args)...}; }, arguments);
  g_arguments.clear();
  EXPECT_EQ(std::apply(reinterpret_cast<Status (*)(Args...)>(import.ours), arguments), 13) << import.symbol;
  EXPECT_EQ(g_arguments, expected) << import.symbol;
  import.original = nullptr;
}

class CublasCallsTest : public testing::Test {
 protected:
  static constexpr std::array kNames = {"cublasGemmEx", "cublasLtMatmul"};
  void SetUp() override {
    library_ = dlopen(CUBLAS_DOUBLE, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library_, nullptr) << dlerror();
    for (const char* name : kNames) import_of(name).original = dlsym(library_, name);
    find_cublas_getters();
    g_matmuls_wanted = true;
    g_told.clear();
  }
  void TearDown() override { g_matmuls_wanted = false; }

  template <typename Signature>
  static Signature* ours(const char* name) {
    return reinterpret_cast<Signature*>(import_of(name).ours);
  }
  MatmulCall gemm_ex(DataType type, ComputeType compute, Operation ta = kNoTranspose) {
    ours<GemmEx<int>>("cublasGemmEx")(&handle_, ta, kNoTranspose, 64, 32, 128, nullptr, at(0x1000), type, 136,
                                      at(0x2000), type, 128, nullptr, at(0x3010), type, 64, compute, GemmAlgo{});
    EXPECT_EQ(g_told.size(), 1u);
    return g_told.empty() ? MatmulCall{} : g_told.back();
  }
  MatmulCall lt_matmul(const LtAlgoStruct* algo = nullptr) {
    ours<LtMatmul>("cublasLtMatmul")(nullptr, &desc_, nullptr, at(0x1000), &a_, at(0x2000), &b_, nullptr, at(0x3000),
                                     &d_, at(0x3000), &d_, algo, nullptr, 0, nullptr);
    EXPECT_EQ(g_told.size(), 1u);
    return g_told.empty() ? MatmulCall{} : g_told.back();
  }
  static void* at(std::uintptr_t address) { return reinterpret_cast<void*>(address); }

  void* library_ = nullptr;
  HandleStruct handle_;
  LtMatmulDescStruct desc_;
  // D (64 × 32) = Aᵀ (64 × 128) · B (128 × 32)
  LtLayoutStruct a_{kR16BF, 128, 64, 128, 1, 0}, b_{kR16BF, 128, 32, 132, 1, 0}, d_{kR16BF, 64, 32, 64, 1, 0};
};

TEST_F(CublasCallsTest, EveryFunctionGetsItsArgumentsAsTheyAre) {
  for (const bool wanted : {false, true}) {
    g_matmuls_wanted = wanted;
#define CASTSCOPE_EXPECT(name, signature, type) expect_passed_on(import_of(#name), static_cast<signature*>(nullptr));
    CASTSCOPE_CUBLAS_FUNCTIONS(CASTSCOPE_EXPECT)
#undef CASTSCOPE_EXPECT
  }
  EXPECT_TRUE(g_told.empty()) << "calls that failed are told";
}

TEST_F(CublasCallsTest, AProductIsToldAsItsArgumentsSay) {
  const MatmulCall call = gemm_ex(kR16BF, kCompute32F, kTranspose);
  EXPECT_STREQ(call.function, "cublasGemmEx");
  EXPECT_EQ((std::array{call.m, call.n, call.k, call.batch}), (std::array<std::uint32_t, 4>{64, 32, 128, 1}));
  EXPECT_EQ((std::array{call.lda, call.ldb, call.ldc}), (std::array<std::uint32_t, 3>{136, 128, 64}));
  EXPECT_EQ((std::array{call.a, call.b, call.c}), (std::array<std::uint8_t, 3>{15, 15, 15}));
  EXPECT_EQ((std::array{call.align_a, call.align_b, call.align_c}), (std::array<std::uint8_t, 3>{4, 8, 4}));
  EXPECT_EQ(call.compute, MatmulCompute::kFp32);
  EXPECT_EQ(call.flags, lanes::kMatmulTransposeA | lanes::kMatmulReducedReduction);
}

TEST_F(CublasCallsTest, TheMathModeOfTheHandleCounts) {
  handle_.mode = kTf32TensorOpMath;
  EXPECT_EQ(gemm_ex(kR32F, kCompute32F).compute, MatmulCompute::kTf32);
  g_told.clear();
  handle_.mode = kDefaultMath;
  EXPECT_EQ(gemm_ex(kR32F, kCompute32F).compute, MatmulCompute::kFp32);
  g_told.clear();
  handle_.mode = kDisallowReducedPrecisionReduction;
  EXPECT_EQ(gemm_ex(kR16F, kCompute32F).flags, 0);
}

TEST_F(CublasCallsTest, WhatIsNotWantedOrFailedIsNotTold) {
  const auto call = [this](int m) {
    return ours<GemmEx<int>>("cublasGemmEx")(&handle_, kNoTranspose, kNoTranspose, m, 1, 1, nullptr, nullptr, kR32F, 1,
                                             nullptr, kR32F, 1, nullptr, nullptr, kR32F, 1, kCompute32F, GemmAlgo{});
  };
  EXPECT_EQ(call(-1), 7);
  EXPECT_TRUE(g_told.empty());
  g_matmuls_wanted = false;
  EXPECT_EQ(call(1), kSuccess);
  EXPECT_TRUE(g_told.empty());
  g_matmuls_wanted = true;
  EXPECT_EQ(call(1), kSuccess);
  EXPECT_EQ(g_told.size(), 1u);
}

TEST_F(CublasCallsTest, CublasLtsDescriptorsAreRead) {
  desc_ = {kCompute32FFastTf32, kTranspose, kNoTranspose, 4};  // with bias
  a_.type = b_.type = d_.type = kR32F;
  const MatmulCall call = lt_matmul();
  EXPECT_STREQ(call.function, "cublasLtMatmul");
  EXPECT_EQ((std::array{call.m, call.n, call.k, call.batch}), (std::array<std::uint32_t, 4>{64, 32, 128, 1}));
  EXPECT_EQ((std::array{call.lda, call.ldb, call.ldc}), (std::array<std::uint32_t, 3>{128, 132, 64}));
  EXPECT_EQ(call.align_b, 4);
  EXPECT_EQ(call.compute, MatmulCompute::kTf32);
  EXPECT_EQ(call.flags, lanes::kMatmulTransposeA | lanes::kMatmulEpilogue);
}

TEST_F(CublasCallsTest, CublasLtAddsUpAsTheAlgorithmSays) {
  const LtAlgoStruct in_compute_type{2}, in_output_type{kLtReductionInOutputType};
  EXPECT_EQ(lt_matmul(&in_compute_type).flags & lanes::kMatmulReducedReduction, 0);
  g_told.clear();
  EXPECT_NE(lt_matmul(&in_output_type).flags & lanes::kMatmulReducedReduction, 0);
  g_told.clear();
  EXPECT_NE(lt_matmul(nullptr).flags & lanes::kMatmulReducedReduction, 0) << "any may be chosen";
}

TEST_F(CublasCallsTest, TheStrideOfABatchCountsForAlignment) {
  a_.batch = b_.batch = d_.batch = 5;
  a_.stride = 8192;
  b_.stride = 4225;  // an odd number of halves
  d_.stride = 2048;
  const MatmulCall call = lt_matmul();
  EXPECT_EQ(call.batch, 5u);
  EXPECT_EQ((std::array{call.align_a, call.align_b, call.align_c}), (std::array<std::uint8_t, 3>{8, 1, 7}));
}

TEST_F(CublasCallsTest, SizesThatDoNotFitAreTheLargest) {
  imports::Import& import = import_of("cublasSgemm_v2_64");
  const auto succeed = [](Handle, Operation, Operation, std::int64_t, std::int64_t, std::int64_t, const void*,
                          const void*, std::int64_t, const void*, std::int64_t, const void*, void*,
                          std::int64_t) { return kSuccess; };
  import.original = reinterpret_cast<void*>(static_cast<Gemm<std::int64_t>*>(succeed));
  ours<Gemm<std::int64_t>>("cublasSgemm_v2_64")(&handle_, kNoTranspose, kNoTranspose, std::int64_t{1} << 32, 1, -1,
                                                nullptr, nullptr, 1, nullptr, 1, nullptr, nullptr, 1);
  import.original = nullptr;
  ASSERT_EQ(g_told.size(), 1u);
  EXPECT_EQ(g_told[0].m, 0xffffffffu);
  EXPECT_EQ(g_told[0].k, 0u);
  EXPECT_EQ(g_told[0].a, 6);
}

TEST_F(CublasCallsTest, AVectorIsAMatrixOfOneColumnAndNeverTf32) {
  handle_.mode = kTf32TensorOpMath;
  imports::Import& import = import_of("cublasSgemv_v2");
  const auto succeed = [](Handle, Operation, int, int, const void*, const void*, int, const void*, int, const void*,
                          void*, int) { return kSuccess; };
  import.original = reinterpret_cast<void*>(static_cast<Gemv<int>*>(succeed));
  ours<Gemv<int>>("cublasSgemv_v2")(&handle_, kTranspose, 100, 20, nullptr, nullptr, 100, nullptr, 1, nullptr, nullptr,
                                    1);
  import.original = nullptr;
  ASSERT_EQ(g_told.size(), 1u);
  const MatmulCall& call = g_told[0];
  EXPECT_EQ((std::array{call.m, call.n, call.k}), (std::array<std::uint32_t, 3>{20, 1, 100}));
  EXPECT_EQ(call.compute, MatmulCompute::kFp32);
}

TEST_F(CublasCallsTest, EveryGroupIsAProduct) {
  imports::Import& import = import_of("cublasGemmGroupedBatchedEx");
  const auto succeed = [](Handle, const Operation*, const Operation*, const int*, const int*, const int*, const void*,
                          const void* const*, DataType, const int*, const void* const*, DataType, const int*,
                          const void*, void* const*, DataType, const int*, int, const int*,
                          ComputeType) { return kSuccess; };
  import.original = reinterpret_cast<void*>(static_cast<GemmGroupedBatchedEx<int>*>(succeed));
  const Operation as[] = {kNoTranspose, kTranspose};
  const int m[] = {1, 2}, n[] = {3, 4}, k[] = {5, 6}, leading[] = {8, 16}, sizes[] = {2, 7};
  ours<GemmGroupedBatchedEx<int>>("cublasGemmGroupedBatchedEx")(&handle_, as, as, m, n, k, nullptr, nullptr, kR16F,
                                                                leading, nullptr, kR16F, leading, nullptr, nullptr,
                                                                kR16F, leading, 2, sizes, kCompute32F);
  import.original = nullptr;
  ASSERT_EQ(g_told.size(), 2u);
  EXPECT_EQ((std::array{g_told[1].m, g_told[1].n, g_told[1].k, g_told[1].batch, g_told[1].lda}),
            (std::array<std::uint32_t, 5>{2, 4, 6, 7, 16}));
}

}  // namespace
}  // namespace castscope::matmuls
