#include "server/cli/serving/periodic_look.h"

#include <atomic>
#include <new>
#include <semaphore>

#include "gtest/gtest.h"

namespace castscope::cli {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLong{60'000};

TEST(PeriodicLookTest, LooksAgainWhateverTheLastLookCameTo) {
  std::counting_semaphore<> looks(0);
  PeriodicLook look(milliseconds(1), [&] {
    looks.release();
    throw std::bad_alloc();
  });
  for (int i = 0; i < 3; ++i) looks.acquire();
  EXPECT_TRUE(look.stop(kLong));
}

// A report of a run may take minutes, and whoever stops the collector does not wait for it.
TEST(PeriodicLookTest, ALookThatLastsHoldsNobodyUp) {
  std::binary_semaphore begun(0), may_end(0);
  PeriodicLook look(milliseconds(1), [&] {
    begun.release();
    may_end.acquire();
  });
  begun.acquire();
  EXPECT_FALSE(look.stop(milliseconds(1)));
  may_end.release();
  EXPECT_TRUE(look.stop(kLong));
}

TEST(PeriodicLookTest, NoLookComesAfterTheEnd) {
  std::atomic<int> looks = 0;
  PeriodicLook look(kLong, [&] { ++looks; });
  EXPECT_TRUE(look.stop(kLong));
  EXPECT_EQ(looks, 0) << "and the first one comes after the time";
}

TEST(PeriodicLookTest, WhatComesFirstComesAlsoWhereTheEndComesAtOnce) {
  std::atomic<int> firsts = 0;
  PeriodicLook look(
      kLong, [] {}, [&] { ++firsts; });
  EXPECT_TRUE(look.stop(kLong));
  EXPECT_EQ(firsts, 1);
}

}  // namespace
}  // namespace castscope::cli
