#include "agent/gpu/event_pairs.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <thread>
#include <vector>

namespace castscope::gpu {
namespace {

class EventPairsTest : public testing::Test {
 protected:
  std::vector<EventPair*> fetched() {
    std::vector<EventPair*> all;
    pairs_->fetch([&](EventPair* pair) { all.push_back(pair); });
    return all;
  }
  std::unique_ptr<EventPairs> pairs_{new EventPairs};
};

TEST_F(EventPairsTest, WhatWasToldFirstIsFetchedFirst) {
  EventPair* const first = pairs_->take(0);
  EventPair* const second = pairs_->take(0);
  EventPair* const third = pairs_->take(1);
  pairs_->publish(second);
  pairs_->publish(third);
  EXPECT_EQ(fetched(), (std::vector{second, third}));
  pairs_->publish(first);
  EXPECT_EQ(fetched(), std::vector{first});
  EXPECT_TRUE(fetched().empty());
}

TEST_F(EventPairsTest, APairIsUsedAgainOnItsDeviceAlone) {
  EventPair* const pair = pairs_->take(3);
  EXPECT_EQ(pair->device, 3);
  pairs_->give_back(pair);
  EXPECT_NE(pairs_->take(2), pair);
  EXPECT_EQ(pairs_->take(3), pair);
}

TEST_F(EventPairsTest, ThereIsAnEndOfThem) {
  for (std::uint32_t i = 0; i < EventPairs::kMost; ++i) ASSERT_NE(pairs_->take(0), nullptr);
  EXPECT_EQ(pairs_->take(0), nullptr);
  EXPECT_EQ(pairs_->take(1), nullptr);
}

TEST_F(EventPairsTest, ADeviceBeyondAllHasNone) {
  EXPECT_EQ(pairs_->take(EventPairs::kMostDevices), nullptr);
  EXPECT_EQ(pairs_->take(-1), nullptr);
}

TEST_F(EventPairsTest, ThreadsNeverShareOne) {
  constexpr std::uint64_t kThreads = 4, kEach = 20'000;
  std::vector<std::thread> launching;
  for (std::uint64_t thread = 0; thread < kThreads; ++thread)
    launching.emplace_back([&, thread] {
      for (std::uint64_t i = 0; i < kEach;) {
        EventPair* const pair = pairs_->take(0);
        if (pair == nullptr) {
          std::this_thread::yield();
          continue;
        }
        pair->ticket = thread * kEach + i++;
        pairs_->publish(pair);
      }
    });
  std::set<std::uint64_t> tickets;
  while (tickets.size() < kThreads * kEach)
    for (EventPair* pair : fetched()) {
      ASSERT_TRUE(tickets.insert(pair->ticket).second) << pair->ticket;
      pairs_->give_back(pair);
    }
  for (std::thread& thread : launching) thread.join();
  EXPECT_TRUE(fetched().empty());
}

}  // namespace
}  // namespace castscope::gpu
