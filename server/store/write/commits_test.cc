// Whoever reads a run while it is written sees by the number of commits (RunStore::commits) that there is more.
#include <atomic>
#include <thread>

#include "server/store/testing/run_store_test.h"

namespace castscope::store {
namespace {

using CommitsTest = RunStoreTest;

TEST_F(CommitsTest, WhatIsCountedIsInTheFile) {
  constexpr std::uint64_t kCommits = 200;
  const auto store = create();
  std::atomic<std::uint64_t> missing = 0;
  std::thread reader([&] {
    for (std::uint64_t seen = 0; seen < kCommits;) {
      seen = store->commits();
      const auto data = read_run(path());
      if (data.ok() && data->notices.size() < seen) ++missing;
    }
  });
  for (std::uint64_t i = 0; i < kCommits; ++i) {
    EXPECT_TRUE(store->notice("sentence " + std::to_string(i)).ok());
    EXPECT_TRUE(store->commit().ok());
  }
  reader.join();
  EXPECT_EQ(missing, 0u);
}

TEST_F(CommitsTest, OnlyWhatWasHandedOverCounts) {
  const auto store = create();
  EXPECT_TRUE(store->commit().ok());
  EXPECT_EQ(store->commits(), 0u);
  EXPECT_TRUE(store->notice("a sentence").ok());
  EXPECT_TRUE(store->read().ok());  // which commits first
  EXPECT_EQ(store->commits(), 1u);
  EXPECT_TRUE(store->read().ok());
  EXPECT_EQ(store->commits(), 1u);
}

}  // namespace
}  // namespace castscope::store
