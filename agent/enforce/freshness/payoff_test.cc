#include "agent/enforce/freshness/payoff.h"

#include <gtest/gtest.h>

#include <string>

namespace castscope::enforce {
namespace {

// A weight as KeptCopy treats it: a use finds a fresh copy, or makes one and asks how to prove it.
class Weight {
 public:
  Weight(bool frozen, bool little) : payoff_(frozen, little) {}
  // '.' is a cast, 's' and 't' are casts whose copy has a proof, '+' is a copy that was served.
  char use() {
    if (proof_ != Proving::kNone && !written_) {
      served_ = true;
      payoff_.served();
      return '+';
    }
    if (written_) payoff_.written(proof_ != Proving::kNone && !served_);
    written_ = served_ = false;
    payoff_.used();
    proof_ = payoff_.best();
    return ".st"[static_cast<int>(proof_)];
  }
  std::string uses(int n) {
    std::string all;
    while (n-- > 0) all += use();
    return all;
  }
  std::string uses_then_written(int n) {
    std::string all = uses(n);
    written_ = true;
    return all;
  }

 private:
  Payoff payoff_;
  Proving proof_ = Proving::kNone;
  bool served_ = false, written_ = false;
};

TEST(PayoffTest, WhatNobodyWritesIsKeptFromTheFirstUse) {
  EXPECT_EQ(Weight(true, false).uses(4), "t+++");
  EXPECT_EQ(Weight(true, true).uses(4), "s+++");
}

TEST(PayoffTest, OneUseAStepCostsNothing) {
  Weight large(false, false), little(false, true);
  for (int step = 0; step < 10; ++step) {
    EXPECT_EQ(large.uses_then_written(1), ".");
    EXPECT_EQ(little.uses_then_written(1), ".");
  }
}

TEST(PayoffTest, OfTwoUsesAStepOneIsSavedWhereASumIsCheap) {
  Weight large(false, false), little(false, true);
  EXPECT_EQ(large.uses_then_written(2), "..");
  EXPECT_EQ(little.uses_then_written(2), ".s");
  little.uses_then_written(2), little.uses_then_written(2);
  for (int step = 0; step < 10; ++step) {
    EXPECT_EQ(large.uses_then_written(2), "..");
    EXPECT_EQ(little.uses_then_written(2), "s+");
  }
}

TEST(PayoffTest, ManyUsesAStepAreServedFromTheSecondStepOn) {
  Weight weight(false, false);
  EXPECT_EQ(weight.uses_then_written(12), "........t+++");
  for (int step = 0; step < 10; ++step) EXPECT_EQ(weight.uses_then_written(12), "t+++++++++++");
}

TEST(PayoffTest, InferenceAfterTrainingIsSeen) {
  Weight weight(false, false);
  for (int step = 0; step < 5; ++step) weight.uses_then_written(1);
  EXPECT_EQ(weight.uses(12), "........t+++");
}

TEST(PayoffTest, WhatIsWrittenBetweenAllUsesIsSoonLeftAlone) {
  Weight frozen(true, false);
  EXPECT_EQ(frozen.uses_then_written(1), "t");
  for (int step = 0; step < 100; ++step) EXPECT_EQ(frozen.uses_then_written(1), ".");
}

TEST(PayoffTest, ProofsInVainBecomeRare) {
  Weight weight(true, true);  // frozen, and used once and twice in turn
  int proofs = 0;
  for (int step = 0; step < 1000; ++step)
    for (const char use : weight.uses_then_written(1 + step % 2)) proofs += use == 's';
  EXPECT_LT(proofs, 100);
}

}  // namespace
}  // namespace castscope::enforce
