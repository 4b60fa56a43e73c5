#include "agent/matmuls/matmuls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <new>
#include <string>

namespace castscope::matmuls {

static ThreadMatmuls* g_current = nullptr;
ThreadMatmuls* current_matmuls() noexcept { return g_current; }

namespace {

using lanes::MatmulCompute;

// The records that a segment would hold of the products.
struct Counted {
  lanes::MatmulDefinition definition;
  std::string function;
  lanes::Counter counter{};
};

MatmulCall gemm(std::uint32_t m, std::uint32_t n, std::uint32_t k, std::uint8_t align = 4) {
  MatmulCall call;
  call.function = "cublasGemmEx";
  call.m = m;
  call.n = n;
  call.k = k;
  call.batch = 1;
  call.a = call.b = call.c = 15;
  call.compute = MatmulCompute::kFp32;
  call.align_a = call.align_b = align;
  call.align_c = 8;
  return call;
}

class MatmulsTest : public testing::Test {
 protected:
  void SetUp() override { g_current = &thread_; }
  void TearDown() override { g_current = nullptr; }

  void place(std::size_t from, std::uint32_t use, std::uint32_t op = 3) {
    thread_.place(from, use, op, [this](const lanes::MatmulDefinition& definition, const char* function) {
      Counted& counted = counted_.emplace_back();
      counted.definition = definition;
      counted.function = function;
      return full_ ? nullptr : &counted.counter;
    });
  }
  std::uint64_t times(std::size_t i) const { return counted_.at(i).counter.casts; }
  std::uint64_t total() const {
    std::uint64_t sum = 0;
    for (const Counted& c : counted_) sum += c.counter.casts;
    return sum;
  }

  ThreadMatmuls thread_;
  std::deque<Counted> counted_;
  bool full_ = false;
};

TEST_F(MatmulsTest, AProductIsItsOperatorsOnceThatEnds) {
  const std::size_t from = thread_.begin();
  MatmulCall call = gemm(64, 32, 128);
  call.flags = lanes::kMatmulTransposeA;
  matmul_called(call);
  place(from, 7, 9);
  ASSERT_EQ(counted_.size(), 1u);
  const auto& d = counted_[0].definition;
  EXPECT_EQ(counted_[0].function, "cublasGemmEx");
  EXPECT_THAT((std::array{d.use, d.op, d.m, d.n, d.k, d.batch}), testing::ElementsAre(7, 9, 64, 32, 128, 1));
  EXPECT_EQ(d.flags, lanes::kMatmulTransposeA);
  EXPECT_EQ(d.compute, MatmulCompute::kFp32);
  EXPECT_EQ(d.align_a, 4);
  EXPECT_EQ(times(0), 1u);
}

TEST_F(MatmulsTest, TheSameAgainIsDefinedOnceAndCounted) {
  for (int i = 0; i < 5; ++i) {
    const std::size_t from = thread_.begin();
    matmul_called(gemm(1, 2, 3));
    matmul_called(gemm(1, 2, 3));
    place(from, 7);
  }
  ASSERT_EQ(counted_.size(), 1u);
  EXPECT_EQ(times(0), 10u);
}

TEST_F(MatmulsTest, AnOperatorWithinAnotherHasItsOwn) {
  const std::size_t outer = thread_.begin();
  matmul_called(gemm(1, 1, 1));
  const std::size_t inner = thread_.begin();
  matmul_called(gemm(1, 1, 1));  // the same as the outer operator's
  place(inner, 20);
  matmul_called(gemm(1, 1, 1));
  place(outer, 10);
  ASSERT_EQ(counted_.size(), 2u);
  EXPECT_EQ(counted_[0].definition.use, 20u);
  EXPECT_EQ(times(0), 1u);
  EXPECT_EQ(counted_[1].definition.use, 10u);
  EXPECT_EQ(times(1), 2u);
}

TEST_F(MatmulsTest, WhatIsDroppedIsNobodys) {
  const std::size_t from = thread_.begin();
  matmul_called(gemm(1, 1, 1));
  thread_.drop(from);
  place(from, 7);
  EXPECT_TRUE(counted_.empty());
}

TEST_F(MatmulsTest, BeyondSixteenShapesSizesAreNotTold) {
  for (std::uint32_t i = 1; i <= 40; ++i) {
    const std::size_t from = thread_.begin();
    matmul_called(gemm(i, 8, 8, i % 2 == 0 ? 4 : 1));
    place(from, 7);
  }
  ASSERT_EQ(counted_.size(), kMostShapes + 2);  // and one for each alignment
  for (const std::size_t i : {kMostShapes, kMostShapes + 1}) {
    const auto& d = counted_[i].definition;
    EXPECT_THAT((std::array{d.m, d.n, d.k, d.batch}), testing::Each(0));
    EXPECT_EQ(d.align_c, d.align_a) << "that of the worst";
    EXPECT_EQ(times(i), 12u);
  }
  EXPECT_EQ(total(), 40u);
}

TEST_F(MatmulsTest, ShapesOfEachUseAndComputationAreCountedApart) {
  const std::size_t from = thread_.begin();
  for (std::uint32_t i = 1; i <= kMostShapes; ++i) {
    MatmulCall call = gemm(i, 8, 8);
    matmul_called(call);
    call.compute = MatmulCompute::kTf32;
    matmul_called(call);
  }
  place(from, 7);
  EXPECT_EQ(counted_.size(), 2 * kMostShapes);
  EXPECT_THAT(counted_, testing::Each(testing::Field(&Counted::definition,
                                                     testing::Field(&lanes::MatmulDefinition::m, testing::Gt(0u)))));
}

TEST_F(MatmulsTest, AnOperatorThatCallsForThousandsIsCountedWhole) {
  const std::size_t from = thread_.begin();
  constexpr std::uint32_t kCalls = 3 * ThreadMatmuls::kMostPending;
  for (std::uint32_t i = 1; i <= kCalls; ++i) matmul_called(gemm(i, 8, 8));
  EXPECT_LE(thread_.pending(), ThreadMatmuls::kMostPending + 1);
  place(from, 7);
  EXPECT_EQ(total(), kCalls);
}

TEST_F(MatmulsTest, WhereThereIsNoRoomItIsAskedOnce) {
  full_ = true;
  for (int i = 0; i < 3; ++i) {
    const std::size_t from = thread_.begin();
    matmul_called(gemm(1, 1, 1));
    place(from, 7);
  }
  EXPECT_EQ(counted_.size(), 1u);
}

TEST_F(MatmulsTest, ADefinitionThatThrowsLeavesNothingBehind) {
  const std::size_t from = thread_.begin();
  matmul_called(gemm(1, 1, 1));
  const auto throws = [](const lanes::MatmulDefinition&, const char*) -> lanes::Counter* { throw std::bad_alloc(); };
  EXPECT_THROW(thread_.place(from, 7, 3, throws), std::bad_alloc);
  EXPECT_EQ(thread_.pending(), from);
}

TEST_F(MatmulsTest, AThreadThatIsNotLookedAtKeepsNothing) {
  g_current = nullptr;
  matmul_called(gemm(1, 1, 1));
  EXPECT_EQ(thread_.pending(), 0u);
}

}  // namespace
}  // namespace castscope::matmuls
