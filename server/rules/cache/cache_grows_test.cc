#include <algorithm>
#include <numeric>
#include <random>

#include "server/rules/testing/rules_test.h"

namespace castscope::rules::cache_grows {
namespace {

using CacheGrowsTest = RulesTest;

TEST_F(CacheGrowsTest, ModulesMadeInOneLongRegion) {
  expect_golden("cache_grows_modules_made_in_one_region", judged([](TestRun& run) {
                  const auto region = run.region("serve.py", 5);
                  const auto weight = run.weight("serve.py", 8, "");
                  const auto input = run.input("serve.py", 8, "");
                  run.enter(region);
                  for (int i = 0; i < 100; ++i) run.cast(input, 0x10).cast(weight, kWeight + i * 192, true, 2 << 20);
                  run.exit();
                }));
}

TEST_F(CacheGrowsTest, SeenWhileTheRegionIsStillOpen) {
  const auto findings = judged(
      [](TestRun& run) {
        const auto region = run.region("serve.py", 5);
        const auto weight = run.weight("serve.py", 8, "");
        run.enter(region);
        for (int i = 0; i < 100; ++i) run.cast(weight, kWeight + i * 192, true);
      },
      /*ends=*/false);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, "cache-grows");
}

TEST_F(CacheGrowsTest, ARegionPerUse) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("serve.py", 5);
    const auto weight = run.weight("serve.py", 8, "");
    for (int i = 0; i < 100; ++i) run.step().enter(region).cast(weight, kWeight + i * 192, true).exit();
  }));
}

TEST_F(CacheGrowsTest, ClearedByHandAfterEachUse) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("serve.py", 5);
    const auto weight = run.weight("serve.py", 8, "");
    run.enter(region);
    for (int i = 0; i < 100; ++i) run.cast(weight, kWeight + i * 192, true).clear();
    run.exit();
  }));
}

// The process has one cache. The other thread's events arrive after those of the first thread.
TEST_F(CacheGrowsTest, ClearedByAnotherThread) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("serve.py", 5);
    const auto weight = run.weight("serve.py", 8, "");
    run.enter(region);
    for (int i = 0; i < 100; ++i) run.lane(1).cast(weight, kWeight + i * 192, true).lane(2).clear();
    run.lane(1).exit();
  }));
}

TEST_F(CacheGrowsTest, ABigModelStopsGrowingAfterTheFirstPass) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    std::vector<std::uint32_t> layers;
    for (int i = 0; i < 100; ++i) layers.push_back(run.weight("train.py", 8, "layers." + std::to_string(i)));
    const auto listed = run.weight("train.py", 9, "");
    run.enter(region);
    for (int pass = 0; pass < 3; ++pass) {
      for (std::uint64_t i = 0; i < 100; ++i) {
        pass == 0 ? run.cast(layers[i], kWeight + i * 192, true) : run.hit(layers[i], kWeight + i * 192);
        pass == 0 ? run.cast(listed, kOther + i * 192, true) : run.hit(listed, kOther + i * 192);
      }
    }
    run.exit();
  }));
}

TEST_F(CacheGrowsTest, AListOfWeightsThatComesBackInEachRegion) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto listed = run.weight("train.py", 8, "");
    for (int step = 0; step < 3; ++step) {
      run.step().enter(region);
      for (int i = 0; i < 40; ++i) run.cast(listed, kWeight + i * 192, true);
      run.exit();
    }
  }));
}

// The weights of each region are at lines of their own and gone after it: the next ones get their addresses.
TEST_F(CacheGrowsTest, AddressesThatAreUsedAgain) {
  constexpr int kRegions = 20;
  const auto findings = judged([](TestRun& run) {
    std::vector<int> addresses(40);
    std::iota(addresses.begin(), addresses.end(), 0);
    std::mt19937 random(1);
    for (int r = 0; r < kRegions; ++r) {
      const auto region = run.region("serve.py", 100 + r);
      const auto weight = run.weight("serve.py", 8, "");
      std::shuffle(addresses.begin(), addresses.end(), random);
      run.enter(region);
      for (const int address : addresses) run.cast(weight, kWeight + address * 192, true);
      run.exit();
    }
  });
  EXPECT_EQ(findings.size(), kRegions);
}

// A list of weights is used in one region, and in another.
TEST_F(CacheGrowsTest, AListInTwoRegions) {
  expect_none(judged([](TestRun& run) {
    for (const int line : {5, 15, 5, 15}) {
      const auto region = run.region("train.py", line);
      const auto listed = run.weight("train.py", 8, "");
      run.step().enter(region);
      for (int i = 0; i < 40; ++i) run.cast(listed, kWeight + i * 192, true);
      run.exit();
    }
  }));
}

// castscope.amp.init() opens one region around the whole job and clears the cache after each backward pass. castscope
// keeps no copies of weights that are used once in a region: their next casts belong to another site.
TEST_F(CacheGrowsTest, AListThatComesBackUncached) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto kept = run.weight("train.py", 8, ""), anew = run.weight("train.py", 8, "");
    run.enter(region);
    for (int step = 0; step < 3; ++step) {
      for (int i = 0; i < 24; ++i) run.cast(step == 0 ? kept : anew, kWeight + i * 192, step == 0);
      run.step().clear();
    }
    run.exit();
  }));
}

TEST_F(CacheGrowsTest, OneStepOfTrainingWithAList) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto listed = run.weight("train.py", 8, "");
    const auto backward = run.fact(FactKind::kBackward, 9);
    run.enter(region);
    for (int i = 0; i < 24; ++i) run.cast(listed, kWeight + i * 192, true);
    run.backward(backward).clear().exit();
  }));
}

// A new weight in each step of one region.
TEST_F(CacheGrowsTest, AWeightPerStepOfTraining) {
  const auto findings = judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto made = run.weight("train.py", 8, "");
    const auto backward = run.fact(FactKind::kBackward, 9);
    run.enter(region);
    for (int i = 0; i < 24; ++i) run.cast(made, kWeight + i * 192, true).backward(backward).step();
    run.exit();
  });
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(findings[0].rule, "cache-grows");
}

TEST_F(CacheGrowsTest, ARolloutUnderNoGradGrowsOnce) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("rollout.py", 5);
    std::vector<std::uint32_t> layers;
    for (int i = 0; i < 20; ++i) layers.push_back(run.weight("rollout.py", 8, "layers." + std::to_string(i)));
    run.enter(region);
    for (int pass = 0; pass < 6; ++pass) {
      for (std::uint64_t i = 0; i < 20; ++i) {
        pass == 0 ? run.cast(layers[i], kWeight + i * 192, true) : run.hit(layers[i], kWeight + i * 192);
      }
    }
    run.exit();
  }));
}

TEST_F(CacheGrowsTest, KeptInputsAreAnotherRulesAffair) {
  const auto findings = judged([](TestRun& run) {
    const auto region = run.region("attack.py", 5);
    const auto input = run.input("attack.py", 8, "fc");
    run.enter(region);
    for (int i = 0; i < 50; ++i) run.cast(input, kWeight + i * 192, true);
    run.exit();
  });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, "cache-holds-input");
}

}  // namespace
}  // namespace castscope::rules::cache_grows
