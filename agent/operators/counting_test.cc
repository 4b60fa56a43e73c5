#include "agent/operators/counting.h"

#include <gtest/gtest.h>

namespace castscope::operators {
namespace {

ValueSample counted(double start, double step, std::uint64_t numbers) {
  return counted_numbers({.start = start, .step = step}, numbers);
}

TEST(CountedNumbers, AreThoseBeforeTheyAreRounded) {
  const ValueSample s = counted(0, 1, 768);
  EXPECT_EQ(s.elements, 768u);
  EXPECT_EQ(s.sampled, kMostSampled);
  EXPECT_EQ(s.integers, kMostSampled);
  EXPECT_EQ(s.most, 767);
  EXPECT_TRUE(s.rounds_in_bfloat16);
  EXPECT_FALSE(s.rounds_in_float16);
  EXPECT_TRUE(counted(0, 1, 4096).rounds_in_float16);
  EXPECT_TRUE(counted(767, -1, 768).rounds_in_bfloat16);
  EXPECT_TRUE(counted(0, 1, 1025).rounds_in_bfloat16) << "bfloat16 holds 1024, but not all before";
}

TEST(CountedNumbers, WhatTheDtypeHoldsIsNoLoss) {
  EXPECT_FALSE(counted(0, 1, 257).rounds_in_bfloat16);
  EXPECT_FALSE(counted(0, 16, 40).rounds_in_bfloat16) << "pixels at a distance of 16";
}

TEST(CountedNumbers, OnlyWholeNumbersCount) {
  EXPECT_EQ(counted(0, 0.5, 4000).sampled, 0u);
  EXPECT_EQ(counted(0.5, 1, 4000).sampled, 0u);
  EXPECT_EQ(counted(0, 0, 4000).sampled, 0u) << "no step";
  EXPECT_EQ(counted(1e9, 1, 100).integers, 0u) << "float32 rounds these, too";
}

}  // namespace
}  // namespace castscope::operators
