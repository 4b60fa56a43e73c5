#include "agent/gpu/cupti/buffers.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

namespace castscope::gpu {
namespace {

TEST(BuffersTest, WhatCameBackFirstIsReadFirst) {
  Buffers buffers;
  std::uint8_t *one = buffers.request(), *two = buffers.request();
  EXPECT_EQ(buffers.out(), 2u);
  buffers.completed(two, 10);
  buffers.completed(one, 20);
  EXPECT_EQ(buffers.out(), 0u);
  const Buffers::Full first = buffers.take();
  EXPECT_EQ(first.data, two);
  EXPECT_EQ(first.valid, 10u);
  EXPECT_EQ(buffers.take().data, one);
  EXPECT_EQ(buffers.take().data, nullptr);
}

TEST(BuffersTest, ThereAreOnlySoManyAndThoseReadAreGivenOutAgain) {
  Buffers buffers;
  std::set<std::uint8_t*> all;
  for (std::uint32_t i = 0; i < Buffers::kMost; ++i) all.insert(buffers.request());
  EXPECT_EQ(all.size(), Buffers::kMost);
  EXPECT_FALSE(all.contains(nullptr));
  EXPECT_EQ(buffers.request(), nullptr);
  buffers.completed(*all.begin(), 1);
  EXPECT_EQ(buffers.request(), nullptr) << "it is not read yet";
  buffers.give_back(buffers.take().data);
  EXPECT_EQ(buffers.request(), *all.begin());
}

TEST(BuffersTest, ABufferOfSomebodyElseIsNone) {
  Buffers buffers;
  buffers.request();
  std::uint8_t strange[16];
  buffers.completed(strange, 16);
  buffers.completed(nullptr, 0);
  EXPECT_EQ(buffers.take().data, nullptr);
  EXPECT_EQ(buffers.out(), 1u);
}

TEST(BuffersTest, WhatSparesHoldIsNotRead) {
  Buffers buffers;
  std::vector<std::uint8_t*> spares;
  for (int i = 0; i < 300; ++i) spares.push_back(buffers.request_spare());
  EXPECT_EQ(std::set<std::uint8_t*>(spares.begin(), spares.end()).size(), spares.size());
  for (std::uint8_t* spare : spares) {
    std::memset(spare, 1, Buffers::kBytes);
    buffers.completed(spare, 16);
  }
  EXPECT_EQ(buffers.take().data, nullptr);
  EXPECT_EQ(buffers.out(), 0u);
  for (std::size_t i = 256; i < spares.size(); ++i) std::free(spares[i]);  // beyond those that are remembered
}

TEST(BuffersTest, MoreThanABufferHoldsIsNotBelieved) {
  Buffers buffers;
  buffers.completed(buffers.request(), Buffers::kBytes * 2);
  EXPECT_EQ(buffers.take().valid, Buffers::kBytes);
}

TEST(BuffersTest, ManyThreadsAndOneReaderLoseNothing) {
  constexpr int kThreads = 4, kEach = 20'000;
  Buffers buffers;
  std::atomic<int> running{kThreads};
  std::atomic<std::uint64_t> given{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&] {
      for (int n = 0; n < kEach;) {
        std::uint8_t* buffer = buffers.request();
        if (buffer == nullptr) {
          std::this_thread::yield();
          continue;
        }
        const std::uint64_t mark = reinterpret_cast<std::uint64_t>(buffer) ^ static_cast<std::uint64_t>(n);
        std::memcpy(buffer, &mark, sizeof mark);
        given += mark;
        buffers.completed(buffer, sizeof mark);
        ++n;
      }
      --running;
    });
  std::uint64_t read = 0;
  int count = 0;
  for (bool last = false; !last;) {
    last = running == 0;
    for (Buffers::Full full = buffers.take(); full.data != nullptr; full = buffers.take()) {
      std::uint64_t mark = 0;
      std::memcpy(&mark, full.data, sizeof mark);
      read += mark;
      ++count;
      buffers.give_back(full.data);
    }
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, kThreads * kEach);
  EXPECT_EQ(read, given);
}

}  // namespace
}  // namespace castscope::gpu
