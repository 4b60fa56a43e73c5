#include "agent/operators/producers.h"

#include <gtest/gtest.h>

namespace castscope::operators {
namespace {

constexpr std::uint8_t kFloat = 6, kHalf = 5;
const int tensors[2] = {};

TEST(Producers, AnAddressUsedAgainIsAnotherTensor) {
  Producers made;
  made.set({&tensors[0], 64}, {7, kFloat, lanes::Phase::kForward});
  EXPECT_EQ(made.find({&tensors[0], 64}, kFloat).use, 7u);
  EXPECT_EQ(made.find({&tensors[0], 128}, kFloat).use, 0u) << "the same TensorImpl, other data";
  EXPECT_EQ(made.find({&tensors[1], 64}, kFloat).use, 0u) << "another TensorImpl, the same data";
  EXPECT_EQ(made.find({&tensors[0], 64}, kHalf).use, 0u) << "another dtype";
}

TEST(Producers, WhatWritesMakes) {
  Producers made;
  made.set({&tensors[0], 64}, {7, kFloat, lanes::Phase::kForward});
  made.set({&tensors[0], 64}, {8, kFloat, lanes::Phase::kBackward});
  EXPECT_EQ(made.find({&tensors[0], 64}, kFloat).use, 8u);
  made.set({&tensors[0], 64}, {});
  EXPECT_EQ(made.find({&tensors[0], 64}, kFloat).use, 0u);
  EXPECT_EQ(made.size(), 0u);
}

TEST(Producers, AreBounded) {
  Producers made;
  for (std::uint64_t i = 0; i < Producers::kMost + 10; ++i) made.set({nullptr, i}, {1, kFloat, {}});
  EXPECT_EQ(made.size(), Producers::kMost);
  made.set({nullptr, 5}, {2, kFloat, {}});
  EXPECT_EQ(made.find({nullptr, 5}, kFloat).use, 2u) << "what is known goes on being right when there is no room";
}

}  // namespace
}  // namespace castscope::operators
