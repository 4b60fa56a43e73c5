#include "agent/enforce/freshness/proof.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace castscope::enforce {
namespace {

constexpr std::size_t kLarge = (1 << 20) + 4096 + 12;  // whole pages, and edges that are not whole pages

class ProofTest : public testing::TestWithParam<Proving> {
 protected:
  ProofTest() : memory_(kLarge + 64, 1) {}
  char* data() { return memory_.data() + 13; }
  bool holds(const Proof& proof) { return proof.holds(data(), kLarge); }
  std::vector<char> memory_;
};

TEST_P(ProofTest, HoldsUntilAByteIsWrittenWhereverItIs) {
  for (const std::size_t at : {std::size_t{0}, std::size_t{5}, kLarge / 2, kLarge - 4096, kLarge - 1}) {
    const Proof proof = Proof::of(data(), kLarge, GetParam());
    EXPECT_TRUE(holds(proof));
    EXPECT_TRUE(holds(proof));
    data()[at] ^= 1;
    EXPECT_FALSE(holds(proof)) << at;
  }
}

TEST_P(ProofTest, WhatLiesBesideDoesNotCount) {
  const Proof proof = Proof::of(data(), kLarge, GetParam());
  data()[-1] = 7;
  data()[kLarge] = 7;
  EXPECT_TRUE(holds(proof));
}

TEST_P(ProofTest, MovesAsAWhole) {
  Proof proof = Proof::of(data(), kLarge, GetParam());
  Proof other;
  EXPECT_FALSE(static_cast<bool>(other));
  EXPECT_FALSE(holds(other));
  other = std::move(proof);
  EXPECT_TRUE(static_cast<bool>(other) && holds(other));
  data()[9] ^= 1;
  EXPECT_FALSE(holds(other));
}

TEST_P(ProofTest, TwoOfTheSameMemoryDoNotBlindEachOther) {
  const Proof first = Proof::of(data(), kLarge, GetParam());
  data()[kLarge / 2] ^= 1;
  const Proof second = Proof::of(data(), kLarge, GetParam());
  EXPECT_FALSE(holds(first));
  EXPECT_TRUE(holds(second));
}

INSTANTIATE_TEST_SUITE_P(SummedAndTracked, ProofTest, testing::Values(Proving::kSum, Proving::kTrack));

TEST(ProofTrackingTest, LittleMemoryIsSummed) {
  const std::vector<char> little(100, 1);
  EXPECT_FALSE(Proof::of(little.data(), little.size(), Proving::kTrack).is_tracked());
  EXPECT_TRUE(Proof::is_little(little.size()));
}

}  // namespace
}  // namespace castscope::enforce
