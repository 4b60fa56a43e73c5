#include "server/rules/testing/rules_test.h"

namespace castscope::rules::cache_blocks_swap {
namespace {

using CacheBlocksSwapTest = RulesTest;

constexpr const char* kNative = "Expected no weakrefs to t1's Tensor object but got 1";

TEST_F(CacheBlocksSwapTest, X05_AModuleIsConvertedInsideTheRegion) {
  expect_golden("cache_blocks_swap_module_converted_in_region", judged([](TestRun& run) {
                  const auto region = run.region("train.py", 5);
                  const auto weight = run.weight("train.py", 6, "fc");
                  const auto native = run.error(8, kNative);
                  const auto python = run.error(8, "_apply(): Couldn't swap Linear.weight");
                  run.enter(region).cast(weight, kWeight, true).seen(native).seen(python).exit();
                }));
}

TEST_F(CacheBlocksSwapTest, X05_NothingIsKept) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto weight = run.weight("train.py", 6, "fc", WhyNotCached::kCacheDisabled);
    const auto native = run.error(8, kNative);
    run.enter(region).cast(weight, kWeight).seen(native).exit();
  }));
}

TEST_F(CacheBlocksSwapTest, X05_TheJobsOwnWeakReference) {
  expect_none(judged([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto weight = run.weight("train.py", 6, "fc");
    const auto python = run.error(8, "Cannot swap t1 because it has weakref associated with it");
    run.enter(region).cast(weight, kWeight, true).seen(python).exit();
  }));
}

}  // namespace
}  // namespace castscope::rules::cache_blocks_swap
