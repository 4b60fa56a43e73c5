#include "agent/enforce/freshness/checksum.h"

#include <gtest/gtest.h>

#include <bit>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace castscope::enforce {
namespace {

std::vector<float> weights(std::size_t n) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0, 0.02f);
  std::vector<float> all(n);
  for (float& each : all) each = normal(random);
  return all;
}

struct Sum {
  const char* name;
  std::uint64_t (*of)(const void* memory, std::size_t bytes);
};
void PrintTo(const Sum& sum, std::ostream* to) { *to << sum.name; }

class ChecksumTest : public testing::TestWithParam<Sum> {
 protected:
  std::uint64_t sum(const std::vector<float>& all) { return GetParam().of(all.data(), all.size() * sizeof(float)); }
};
INSTANTIATE_TEST_SUITE_P(Both, ChecksumTest,
                         testing::Values(Sum{"Fastest", checksum}, Sum{"Portable", portable_checksum}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(ChecksumTest, EachBitCounts) {
  for (std::size_t bytes = 0; bytes <= 300; ++bytes) {
    std::vector<unsigned char> memory(bytes, 0x5a);
    std::set<std::uint64_t> sums = {GetParam().of(memory.data(), bytes)};
    for (std::size_t bit = 0; bit < bytes * 8; ++bit) {
      memory[bit / 8] ^= static_cast<unsigned char>(1 << bit % 8);
      sums.insert(GetParam().of(memory.data(), bytes));
      memory[bit / 8] ^= static_cast<unsigned char>(1 << bit % 8);
    }
    ASSERT_EQ(sums.size(), bytes * 8 + 1) << bytes << " bytes: two flipped bits give the same sum";
  }
}

TEST_P(ChecksumTest, TheLengthCounts) {
  const std::vector<char> zeros(300);
  std::set<std::uint64_t> sums;
  for (std::size_t bytes = 0; bytes <= zeros.size(); ++bytes) sums.insert(GetParam().of(zeros.data(), bytes));
  EXPECT_EQ(sums.size(), zeros.size() + 1);
}

TEST_P(ChecksumTest, ABitCountsAnywhereInMuchMemory) {
  std::vector<float> all = weights(1 << 18);
  const std::uint64_t before = sum(all);
  std::mt19937 random(2);
  for (int n = 0; n < 2000; ++n) {
    float& one = all[random() % all.size()];
    const float was = one;
    one = std::bit_cast<float>(std::bit_cast<std::uint32_t>(one) ^ 1u << random() % 32);
    ASSERT_NE(sum(all), before);
    one = was;
  }
  EXPECT_EQ(sum(all), before);
}

// Most fast sums miss some of these changes.
TEST_P(ChecksumTest, WhatTrainingDoesToWeightsCounts) {
  const std::vector<float> as_is = weights(1 << 12);
  std::set<std::uint64_t> sums = {sum(as_is)};
  std::size_t changes = 1;
  const auto differs = [&](const auto& change) {
    std::vector<float> all = as_is;
    change(all);
    sums.insert(sum(all));
    ++changes;
  };
  for (const std::size_t apart : {1, 2, 4, 8, 16, 32, 64, 128, 1024, 2048}) {
    differs([&](auto& all) { std::swap(all[5], all[5 + apart]); });
    differs([&](auto& all) { std::rotate(all.begin(), all.begin() + static_cast<int>(apart), all.end()); });
    differs([&](auto& all) { all[7] = -all[7], all[7 + apart] = -all[7 + apart]; });
    differs([&](auto& all) { all[9] += 1.0f, all[9 + apart] -= 1.0f; });
    differs([&](auto& all) { std::fill_n(all.begin() + 1000, apart, 0.0f); });
    differs([&](auto& all) {
      for (std::size_t i = 0; i < all.size(); i += apart) all[i] = -all[i];
    });
    differs([&](auto& all) {
      for (std::size_t i = 0; i < 2 * apart; ++i) all[i] = -all[i];
    });
  }
  differs([](auto& all) {
    for (float& each : all) each *= 0.999f;
  });
  differs([](auto& all) { std::fill(all.begin(), all.end(), 0.0f); });
  differs([](auto& all) { all.push_back(0.0f); });
  EXPECT_EQ(sums.size(), changes - 1) << "two of them negate everything";
}

TEST_P(ChecksumTest, DependsOnTheBytesAloneAndReadsNoOther) {
  std::mt19937 random(3);
  for (std::size_t bytes = 0; bytes <= 300; ++bytes) {
    const std::vector<float> all = weights(76);
    const std::uint64_t expected = GetParam().of(all.data(), bytes);
    for (const std::size_t offset : {0, 1, 3, 4, 7, 8, 13}) {
      const auto memory = std::make_unique<char[]>(offset + bytes);  // memory beyond it is not allocated
      std::memcpy(memory.get() + offset, all.data(), bytes);
      ASSERT_EQ(GetParam().of(memory.get() + offset, bytes), expected) << bytes << " at " << offset;
    }
  }
}

// Measures the cost: CASTSCOPE_BENCH=1 enforce_test --gtest_filter='*Costs'
TEST(ChecksumCostsTest, Costs) {
  if (std::getenv("CASTSCOPE_BENCH") == nullptr) GTEST_SKIP() << "CASTSCOPE_BENCH is not set";
  const auto microseconds = [](int times, const auto& run) {
    double best = 1e9;
    for (int round = 0; round < 10; ++round) {
      const auto start = std::chrono::steady_clock::now();
      for (int n = 0; n < times; ++n) run();
      const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
      best = std::min(best, took.count() / times);
    }
    return best;
  };
  volatile std::uint64_t to = 0;
  std::printf("%8s %10s %6s %10s %6s\n", "KB", "checksum", "GB/s", "portable", "GB/s");
  for (const std::size_t kb : {16, 64, 512, 4 << 10, 64 << 10}) {
    const std::vector<float> all = weights(kb << 8);
    const int times = static_cast<int>((8 << 10) / kb + 1);
    const double fast = microseconds(times, [&] { to = checksum(all.data(), kb << 10); }),
                 portable = microseconds(times, [&] { to = portable_checksum(all.data(), kb << 10); });
    const double gigabytes = static_cast<double>(kb << 10) / 1000;
    std::printf("%8zu %10.2f %6.1f %10.2f %6.1f\n", kb, fast, gigabytes / fast, portable, gigabytes / portable);
  }
}

}  // namespace
}  // namespace castscope::enforce
