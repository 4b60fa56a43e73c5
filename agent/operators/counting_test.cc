#include "agent/operators/counting.h"

#include <gtest/gtest.h>

namespace castscope::operators {
namespace {

constexpr int kBitsOfBrain = 8, kBitsOfHalf = 11;  // bfloat16, float16

ValueSample counted(double start, double step, std::uint64_t numbers, int bits = kBitsOfBrain) {
  return counted_numbers({.start = start, .step = step}, numbers, bits);
}

TEST(CountedNumbers, TheLargestThatIsRounded) {
  EXPECT_EQ(counted(0, 1, 768).most, 767);
  EXPECT_EQ(counted(0, 1, 769).most, 767) << "bfloat16 holds 768";
  EXPECT_EQ(counted(767, -1, 768).most, 767);
  EXPECT_EQ(counted(-600, 1, 100).most, 599) << "furthest from 0, of either sign; bfloat16 holds 600";
  const ValueSample s = counted(0, 1, 768);
  EXPECT_EQ(s.elements, 768u);
  EXPECT_EQ(s.sampled, kMostSampled);
  EXPECT_EQ(s.integers, kMostSampled);
  EXPECT_LT(s.least, s.most);
}

TEST(CountedNumbers, WhatTheDtypeHoldsIsNoLoss) {
  EXPECT_EQ(counted(0, 1, 257).sampled, 0u);
  EXPECT_EQ(counted(0, 16, 40).sampled, 0u) << "pixels at a distance of 16";
  EXPECT_EQ(counted(0, 1, 768, kBitsOfHalf).sampled, 0u);
  EXPECT_EQ(counted(0, 1, 4096, kBitsOfHalf).most, 4095);
}

TEST(CountedNumbers, OnlyWholeNumbersCount) {
  EXPECT_EQ(counted(0, 0.5, 4000).sampled, 0u);
  EXPECT_EQ(counted(0.5, 1, 4000).sampled, 0u);
  EXPECT_EQ(counted(0, 0, 4000).sampled, 0u) << "no step";
  EXPECT_EQ(counted(999, 1, 1).sampled, 0u) << "one number has no neighbour";
  EXPECT_EQ(counted(1e9, 1, 100).sampled, 0u) << "float32 rounds these, too";
}

}  // namespace
}  // namespace castscope::operators
