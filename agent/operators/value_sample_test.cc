#include "agent/operators/value_sample.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace castscope::operators {
namespace {

ValueSample sample(const std::vector<double>& memory, std::vector<std::int64_t> sizes,
                   std::vector<std::int64_t> strides, double limit = 1e300) {
  return sample_values([&](std::int64_t at) { return memory.at(static_cast<std::size_t>(at)); }, sizes.data(),
                       strides.data(), sizes.size(), limit);
}

TEST(ValueSample, SaysWhatTheValuesAre) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const ValueSample s = sample({0, -3, 2.5, inf, nan, 70000, -0.0}, {7}, {1}, 65504);
  EXPECT_EQ(s.elements, 7u);
  EXPECT_EQ(s.sampled, 7u);
  EXPECT_EQ(s.not_finite, 2u);
  EXPECT_EQ(s.zeros, 2u);
  EXPECT_EQ(s.integers, 4u) << "0, -3, 70000, -0";
  EXPECT_EQ(s.beyond, 1u);
  EXPECT_EQ(s.most, 70000);
  EXPECT_EQ(s.least, 2.5);
}

TEST(ValueSample, WhatHasNoFractionsAnyhowIsNoInteger) {
  EXPECT_EQ(sample({8388607, 8388608, -5e13}, {3}, {1}).integers, 1u);
}

TEST(ValueSample, OfManyTheFirstAndTheLastAreSeen) {
  std::vector<double> memory(100'000);
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<double>(i);
  const ValueSample s = sample(memory, {100'000}, {1});
  EXPECT_EQ(s.sampled, kMostSampled);
  EXPECT_EQ(s.integers, kMostSampled);
  EXPECT_EQ(s.zeros, 1u);
  EXPECT_EQ(s.most, 99'999);
}

// The differences of 512 positions, row by row, where every 1028th is even.
TEST(ValueSample, EvenDistancesDoNotMeetEvenValuesAlone) {
  std::vector<double> memory(512 * 512);
  for (std::size_t i = 0; i < memory.size(); ++i)
    memory[i] = static_cast<double>(i % 512) - static_cast<double>(i / 512);
  EXPECT_TRUE(sample(memory, {512, 512}, {512, 1}).rounds_in_bfloat16);
}

TEST(ValueSample, FollowsStrides) {
  // The transpose of a 2 x 3 matrix, and one row expanded: the elements between belong to neither.
  const std::vector<double> memory = {1, 2, 3, 40, 50, 60};
  EXPECT_EQ(sample(memory, {3, 2}, {1, 3}).most, 60);
  EXPECT_EQ(sample(memory, {3}, {1}).most, 3);
  EXPECT_EQ(sample(memory, {4, 2}, {0, 3}).most, 40);
  EXPECT_EQ(sample(memory, {4, 2}, {0, 3}).sampled, 8u);
}

TEST(ValueSample, OneOrNone) {
  EXPECT_EQ(sample({-5}, {}, {}).most, 5);
  EXPECT_EQ(sample({-5}, {}, {}).sampled, 1u);
  EXPECT_EQ(sample({}, {3, 0}, {0, 1}).sampled, 0u);
}

}  // namespace
}  // namespace castscope::operators
