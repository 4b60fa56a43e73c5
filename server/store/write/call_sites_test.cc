// Tests call sites of which more is learnt while the process runs, and the sites that name them.
#include <map>
#include <memory>

#include "server/store/testing/run_store_test.h"

namespace castscope::store {
namespace {

class CallSitesTest : public RunStoreTest {};

TEST_F(CallSitesTest, WhatIsLearntOfACallSiteReachesItsSites) {
  auto store = create();
  TestRun run(*store);
  ASSERT_TRUE(
      store->define(run.key(), CallSiteInfo{.id = 1, .op = "", .argument_name = "", .code_address = "lib+0x1"}).ok());
  const std::uint32_t site = run.site_at(1);
  run.cast(site, kTensor).flush();
  ASSERT_TRUE(
      store
          ->define(run.key(),
                   CallSiteInfo{
                       .id = 1, .op = "aten::mm", .argument = 1, .argument_name = "mat2", .code_address = "lib+0x1"})
          .ok());
  run.end();
  ASSERT_TRUE(store->close().ok());
  const RunData data = read();
  ASSERT_EQ(data.sites.size(), 1u);
  EXPECT_EQ(data.sites.front().op, "aten::mm");
  EXPECT_EQ(data.call_sites.front().argument_name, "mat2");
}

TEST_F(CallSitesTest, CallSitesOfOneAddressThatTurnOutDifferentPart) {
  auto store = create();
  TestRun first(*store, 100), second(*store, 101);
  for (TestRun* run : {&first, &second}) {
    ASSERT_TRUE(
        store->define(run->key(), CallSiteInfo{.id = 1, .op = "", .argument_name = "", .code_address = "lib+0x1"})
            .ok());
    run->cast(run->site_at(1), kTensor).flush();
    const std::string op = run == &first ? "aten::stack" : "aten::cat";
    ASSERT_TRUE(
        store
            ->define(
                run->key(),
                CallSiteInfo{.id = 1, .op = op, .argument = 0, .argument_name = "tensors", .code_address = "lib+0x1"})
            .ok());
  }
  first.end();
  second.end();
  ASSERT_TRUE(store->close().ok());
  EXPECT_EQ(query("SELECT casts FROM v_sites WHERE operator = 'aten::stack'"), 1);
  EXPECT_EQ(query("SELECT casts FROM v_sites WHERE operator = 'aten::cat'"), 1);
}

TEST_F(CallSitesTest, AContinuedRunFindsItsCallSitesAgain) {
  const CallSiteInfo unknown{.id = 1, .op = "aten::mm", .argument_name = "", .code_address = "lib+0x1"};
  const CallSiteInfo known{
      .id = 1, .op = "aten::mm", .argument = 1, .argument_name = "mat2", .code_address = "lib+0x1"};
  for (const bool again : {false, true}) {
    auto store = again ? *RunStore::resume(path()) : create();
    TestRun run(*store);
    ASSERT_TRUE(store->define(run.key(), unknown).ok());
    const std::uint32_t site = run.site_at(1);
    ASSERT_TRUE(store->define(run.key(), known).ok());
    run.cast(site, kTensor);
    run.end();
    ASSERT_TRUE(store->close().ok());
    EXPECT_EQ(read().start.continued, again);
  }
  EXPECT_EQ(query("SELECT count(*) FROM call_sites"), 1);
  EXPECT_EQ(query("SELECT count(*) FROM sites"), 1);
  EXPECT_EQ(query("SELECT count(DISTINCT behaviour) FROM step_runs WHERE behaviour > 0"), 1);
}

TEST_F(CallSitesTest, TheCastOfAGradientFollowsTheCastWhoseGradientItIs) {
  auto store = create();
  std::vector<std::unique_ptr<TestRun>> processes;
  for (const std::uint32_t pid : {100u, 101u}) {
    TestRun& run = *processes.emplace_back(std::make_unique<TestRun>(*store, pid));
    ASSERT_TRUE(
        store->define(run.key(), CallSiteInfo{.id = 1, .op = "", .argument_name = "", .code_address = "l"}).ok());
    const std::uint32_t site = run.site_at(1);
    const std::uint32_t gradient =
        run.site({.forward_site = site, .op = "ToCopyBackward0", .cause = lanes::Cause::kBackward});
    run.cast(site, kTensor).cast(gradient, kTensor);
  }
  const auto name = [&](std::size_t process, const char* op) {
    const CallSiteInfo named{.id = 1, .op = op, .argument = 0, .argument_name = "self", .code_address = "l"};
    return store->define(processes[process]->key(), named);
  };
  ASSERT_TRUE(name(0, "aten::mm").ok());
  ASSERT_TRUE(name(1, "aten::bmm").ok());
  for (const auto& run : processes) run->end();
  ASSERT_TRUE(store->close().ok());
  const RunData data = read();
  std::map<std::string, std::uint64_t> gradients;
  for (const SiteUse& use : data.site_uses)
    if (const Site& site = data.sites[use.site]; site.forward_site != 0)
      gradients[data.sites[site.forward_site].op] += use.counts.casts;
  EXPECT_EQ(gradients, (std::map<std::string, std::uint64_t>{{"aten::bmm", 1}, {"aten::mm", 1}}));
}

}  // namespace
}  // namespace castscope::store
