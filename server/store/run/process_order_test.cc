#include "server/store/run/process_order.h"

#include <gmock/gmock.h>

#include "server/store/testing/run_store_test.h"

namespace castscope::store {
namespace {

using ::testing::ElementsAre;
using ProcessOrderTest = RunStoreTest;

// Two ranks of equal pids on two hosts, and a process without a rank, which was heard of first.
TEST_F(ProcessOrderTest, ByRankAndThenByHost) {
  auto store = create();
  for (const auto& [host, rank] :
       {std::pair{"c", ""}, std::pair{"b", "10"}, std::pair{"a", "9"}, std::pair{"a2", ""}}) {
    TestRun run(*store, 100, host);
    if (*rank != 0) run.attribute("rank", rank);
    run.region("train.py", 5);
    run.cast(run.weight("train.py", 10, "fc"), kTensor, true);
    run.end();
  }
  ASSERT_TRUE(store->close().ok());
  const RunData data = read();
  EXPECT_THAT(processes_in_order(data), ElementsAre(3, 2, 4, 1));
  EXPECT_EQ(places_in_order(data)[ProcessId(2)], 1u);
  EXPECT_EQ(query("SELECT group_concat(process, '') FROM v_processes"), 3241);
  EXPECT_EQ(query("SELECT group_concat(process, '') FROM v_sites_by_process"), 3241);
  EXPECT_EQ(query("SELECT count(DISTINCT host || pid) FROM v_step_runs"), 4);
  EXPECT_EQ(query("SELECT rank FROM v_step_runs LIMIT 1"), 9);
}

TEST_F(ProcessOrderTest, ARankIsANumber) {
  Process process;
  EXPECT_EQ(rank_of(process), std::nullopt);
  for (const auto& [told, rank] :
       {std::pair{"3", std::optional<std::int64_t>(3)}, std::pair{"-1", std::optional<std::int64_t>()},
        std::pair{"3x", std::optional<std::int64_t>()}}) {
    process.attributes = {{"rank", told}};
    EXPECT_EQ(rank_of(process), rank) << told;
  }
}

}  // namespace
}  // namespace castscope::store
