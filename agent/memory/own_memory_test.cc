#include "agent/memory/own_memory.h"

#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <random>
#include <thread>

namespace castscope::memory {
namespace {

TEST(OwnMemory, BlocksDoNotOverlapAndAreAligned) {
  struct Block {
    unsigned char* at;
    std::size_t bytes;
    unsigned char fill;
  };
  std::mt19937 random(7);
  std::vector<Block> blocks;
  for (int i = 0; i < 20'000; ++i) {
    if (!blocks.empty() && random() % 3 == 0) {
      const std::size_t which = random() % blocks.size();
      const Block block = blocks[which];
      for (std::size_t k = 0; k < block.bytes; ++k) ASSERT_EQ(block.at[k], block.fill) << block.bytes;
      give_back(block.at, block.bytes);
      blocks[which] = blocks.back();
      blocks.pop_back();
      continue;
    }
    const std::size_t bytes = 1 + random() % (random() % 50 == 0 ? 100'000 : 700);
    auto* at = static_cast<unsigned char*>(own_memory(bytes));
    ASSERT_EQ(reinterpret_cast<std::uintptr_t>(at) % 16, 0u);
    const auto fill = static_cast<unsigned char>(random());
    std::memset(at, fill, bytes);
    blocks.push_back({at, bytes, fill});
  }
  for (const Block& block : blocks) {
    for (std::size_t k = 0; k < block.bytes; ++k) ASSERT_EQ(block.at[k], block.fill);
    give_back(block.at, block.bytes);
  }
}

TEST(OwnMemory, WhatIsGivenBackIsUsedAgain) {
  for (const std::size_t bytes : {1u, 16u, 17u, 512u, 513u, 32u << 10}) {
    void* const first = own_memory(bytes);
    give_back(first, bytes);
    EXPECT_EQ(own_memory(bytes), first) << bytes;
  }
}

TEST(OwnMemory, ContainersTakeNothingFromTheHeap) {
  OwnTextMap<OwnVector<std::uint64_t>> map;
  const auto fill = [&] {
    for (int i = 0; i < 1000; ++i) {
      char name[64];
      const int length = std::snprintf(name, sizeof name, "a name that is longer than fits into a string %d", i);
      map.emplace(std::string_view(name, static_cast<std::size_t>(length)), OwnVector<std::uint64_t>(20, 7));
    }
  };
  const std::size_t before = mallinfo2().uordblks;
  fill();
  EXPECT_EQ(mallinfo2().uordblks, before);
  EXPECT_EQ(map.size(), 1000u);
  EXPECT_NE(map.find(std::string_view("a name that is longer than fits into a string 999")), map.end());
}

TEST(OwnMemory, AChildForkedWhileThreadsAllocateGoesOn) {
  std::atomic<bool> over{false};
  std::thread busy([&] {
    while (!over) give_back(own_memory(40), 40);
  });
  for (int i = 0; i < 50; ++i) {
    hold_own_memory();
    const pid_t child = fork();
    release_own_memory();
    if (child == 0) {
      OwnVector<int> some(1000, 3);
      _exit(some[999] == 3 ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  over = true;
  busy.join();
}

}  // namespace
}  // namespace castscope::memory
