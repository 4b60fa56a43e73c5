#include "agent/operators/producers.h"

#include <gtest/gtest.h>

namespace castscope::operators {
namespace {

constexpr std::uint8_t kFloat = 6, kHalf = 5;
const int tensors[2] = {};

TEST(Producers, AnAddressUsedAgainIsAnotherTensor) {
  Producers made;
  made.set({&tensors[0], 64}, {.use = 7, .dtype = kFloat, .phase = lanes::Phase::kForward});
  EXPECT_EQ(made.find({&tensors[0], 64}, kFloat).use, 7u);
  EXPECT_EQ(made.find({&tensors[0], 128}, kFloat).use, 0u) << "the same TensorImpl, other data";
  EXPECT_EQ(made.find({&tensors[1], 64}, kFloat).use, 0u) << "another TensorImpl, the same data";
  EXPECT_EQ(made.find({&tensors[0], 64}, kHalf).use, 0u) << "another dtype";
}

TEST(Producers, WhatWritesMakes) {
  Producers made;
  made.set({&tensors[0], 64}, {.use = 7, .dtype = kFloat, .phase = lanes::Phase::kForward});
  made.set({&tensors[0], 64}, {.use = 8, .dtype = kFloat, .phase = lanes::Phase::kBackward});
  EXPECT_EQ(made.find({&tensors[0], 64}, kFloat).use, 8u);
  made.set({&tensors[0], 64}, {});
  EXPECT_EQ(made.find({&tensors[0], 64}, kFloat).use, 0u);
  EXPECT_EQ(made.size(), 0u);
}

// The model's input has no producer, and a script's graph casts it before the input's first operator.
TEST(Producers, ACopyThatAScriptMadeIsKnownWithoutOne) {
  Producers made;
  made.set({&tensors[0], 64}, {.dtype = kHalf, .before = {.dtype = kFloat, .role = lanes::Role::kWeight}});
  const Producer copy = made.find({&tensors[0], 64}, kHalf);
  EXPECT_EQ(copy.use, 0u);
  EXPECT_EQ(copy.before.dtype, kFloat);
  EXPECT_EQ(copy.before.role, lanes::Role::kWeight);
  made.set({&tensors[0], 64}, {});
  EXPECT_EQ(made.find({&tensors[0], 64}, kHalf).before.dtype, kNoDtype);
  EXPECT_EQ(made.size(), 0u);
}

TEST(Producers, AreBounded) {
  Producers made;
  for (std::uint64_t i = 0; i < Producers::kMost + 10; ++i) made.set({nullptr, i}, {.use = 1, .dtype = kFloat});
  EXPECT_EQ(made.size(), Producers::kMost);
  made.set({nullptr, 5}, {.use = 2, .dtype = kFloat});
  EXPECT_EQ(made.find({nullptr, 5}, kFloat).use, 2u) << "what is known goes on being right when there is no room";
}

}  // namespace
}  // namespace castscope::operators
