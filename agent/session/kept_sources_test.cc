#include "agent/session/kept_sources.h"

#include <gtest/gtest.h>

#include <vector>

#include "agent/torch/spread_elements.h"

namespace castscope::agent {
namespace {

using lanes::Staleness;

const void* source(std::uintptr_t n) { return reinterpret_cast<const void*>(0x7f0000000000 + n * 192); }
Snapshot at_version(std::uint32_t version) { return {nullptr, nullptr, 0, version}; }

TEST(KeptSources, ManyAreFoundAgainUntilTheCacheIsCleared) {
  KeptSources kept;
  EXPECT_FALSE(kept.find(source(0)));
  for (int region = 0; region < 3; ++region) {
    for (std::uint32_t i = 0; i < 1000; ++i) kept.put(source(i), at_version(i + 1));
    for (std::uint32_t i = 0; i < 1000; ++i) {
      ASSERT_TRUE(kept.find(source(i))) << i;
      EXPECT_EQ(kept.find(source(i))->as_cast.version, i + 1);
    }
    EXPECT_FALSE(kept.find(source(1000)));
    kept.clear();
    for (std::uint32_t i = 0; i < 1000; ++i) EXPECT_FALSE(kept.find(source(i))) << i;
  }
}

TEST(KeptSources, OneThatIsCastAgainIsAsItWasThen) {
  KeptSources kept;
  kept.put(source(1), at_version(1));
  kept.looked_at(source(1), 2, 0, Staleness::kVersion);
  EXPECT_EQ(kept.find(source(1))->how, Staleness::kVersion);
  kept.put(source(1), at_version(2));
  EXPECT_EQ(kept.find(source(1))->as_cast.version, 2u);
  EXPECT_EQ(kept.find(source(1))->how, Staleness::kNone);
}

TEST(KeptSources, ThereIsRoomForSoManyAndNoMore) {
  KeptSources kept;
  for (std::size_t i = 0; i < KeptSources::kMost + 100; ++i) kept.put(source(i), at_version(0));
  EXPECT_TRUE(kept.find(source(KeptSources::kMost - 1)));
  EXPECT_FALSE(kept.find(source(KeptSources::kMost)));
  kept.put(source(0), at_version(7));
  EXPECT_EQ(kept.find(source(0))->as_cast.version, 7u) << "one that is known needs no room";
}

TEST(KeptSources, AfterAnOptimizerStepEachIsToBeLookedAtOnce) {
  KeptSources kept;
  EXPECT_FALSE(kept.optimizer_stepped()) << "nothing is kept";
  for (std::uint32_t i = 0; i < 3; ++i) kept.put(source(i), at_version(0));
  ASSERT_TRUE(kept.optimizer_stepped());
  const std::uint32_t steps = kept.steps();
  EXPECT_NE(kept.find(source(0))->steps, steps);
  EXPECT_FALSE(kept.looked_at(source(0), 0, steps, Staleness::kNone));
  EXPECT_FALSE(kept.looked_at(source(0), 0, steps, Staleness::kNone)) << "the same one again";
  kept.put(source(1), at_version(1));  // cast again
  kept.put(source(9), at_version(1));  // a new one
  EXPECT_TRUE(kept.looked_at(source(2), 0, steps, Staleness::kNone));
  ASSERT_TRUE(kept.optimizer_stepped());
  EXPECT_FALSE(kept.looked_at(source(2), 0, steps, Staleness::kNone)) << "looked at before the step was known";
  EXPECT_NE(kept.find(source(2))->steps, kept.steps());
}

TEST(SpreadElements, AllOfFewElseTheFirstTheLastAndSomeBetween) {
  const auto seen = [](std::uint64_t elements, std::uint64_t most) {
    std::vector<std::uint64_t> numbers;
    each_spread(elements, most, [&](std::uint64_t number) { numbers.push_back(number); });
    return numbers;
  };
  EXPECT_EQ(seen(0, 4), (std::vector<std::uint64_t>{}));
  EXPECT_EQ(seen(1, 4), (std::vector<std::uint64_t>{0}));
  EXPECT_EQ(seen(4, 4), (std::vector<std::uint64_t>{0, 1, 2, 3}));
  EXPECT_EQ(seen(100, 4), (std::vector<std::uint64_t>{0, 33, 66, 99}));
  EXPECT_EQ(seen(std::uint64_t{1} << 60, 3).back(), (std::uint64_t{1} << 60) - 1);
}

}  // namespace
}  // namespace castscope::agent
