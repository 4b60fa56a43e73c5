// The list of runs, and what changed since the last run of the same command.
#include "server/judging/judged_run.h"
#include "server/web/api/routes_test.h"

namespace castscope::web {
namespace {

class RunListTest : public RoutesTest {
 protected:
  struct How {
    int casts = 2;
    std::int64_t begin_s = 0;
    std::vector<std::string> command = {"python", "train.py"};
    std::optional<int> exit_status = 0, signal = {};
  };
  // Casts a frozen weight so many times in each of two steps.
  void record_run(const std::string& name, const How& how) {
    store::RunStart begin = start();
    begin.run_id = name;
    begin.command = how.command;
    begin.start_ns += how.begin_s * 1'000'000'000;
    auto store = store::RunStore::create(path(name + ".castscope"), begin, {}).value();
    store::TestRun run(*store);
    const auto region = run.region("train.py", 10);
    const auto weight = run.weight("train.py", 11, "head", lanes::WhyNotCached::kNoRequiresGrad);
    for (int step = 0; step < 2; ++step) {
      run.enter(region);
      for (int i = 0; i < how.casts; ++i) run.cast(weight, 0x100);
      run.exit().step();
    }
    run.end();
    const auto judged = judging::read_and_judge(path(name + ".castscope"), {}).value();
    EXPECT_TRUE(store->set_findings(judged->judgement.findings).ok());
    (void)store->finish({.end_ns = begin.start_ns + 2'000'000'000,
                         .exit_status = how.exit_status,
                         .signal = how.signal,
                         .complete = true});
    EXPECT_TRUE(store->close().ok());
    runs_.put(std::make_shared<FileRun>(name, path(name + ".castscope"), FileRunOptions()));
  }
};

TEST_F(RunListTest, SaysHowRunsEnded) {
  record_run("well", {});
  record_run("failed", {.exit_status = 3});
  record_run("killed", {.exit_status = {}, .signal = 9});
  const Json list = json("runs")["runs"];
  EXPECT_EQ(list[0]["exit_status"], 0);
  EXPECT_EQ(list[0]["signal"], nullptr);
  EXPECT_EQ(list[1]["exit_status"], 3);
  EXPECT_EQ(list[2]["exit_status"], 137);
  EXPECT_EQ(list[2]["signal"], 9);
  EXPECT_FALSE(list[0].contains("run_counts"));
}

TEST_F(RunListTest, ARunWhoseRelaysSaidGoodbyeIsFinished) {
  for (const bool all : {false, true}) {
    auto store = create();
    store::TestRun run(*store);
    record_events(run);
    (void)store->relay({.relay = "first", .acknowledged = 1, .said_goodbye = true});
    (void)store->relay({.relay = "second", .acknowledged = 1, .said_goodbye = all});
    (void)store->finish({.end_ns = start().start_ns + 1, .exit_status = {}, .signal = {}, .complete = false});
    EXPECT_TRUE(store->close().ok());
    show();
    const std::string state = all ? "finished" : "lost";
    EXPECT_EQ(json("runs")["runs"][0]["run_state"], state);
    EXPECT_EQ(loaded()["run_state"], state);
    std::filesystem::remove(path());
  }
}

TEST_F(RunListTest, CountsAreReadFromFilesThatNobodyOpened) {
  record_run("run", {.casts = 3});
  const Json counts = json("runs", "with_counts=1")["runs"][0]["run_counts"];
  EXPECT_EQ(counts["casts"], 6);
  EXPECT_EQ(counts["cache_hits"], 0);
  EXPECT_EQ(runs_.all()[0]->known_snapshot(), nullptr);  // it was not loaded for that
  (void)loaded();
  EXPECT_EQ(json("runs", "with_counts=1")["runs"][0]["run_counts"], counts);
  std::uint64_t found = 0;
  for (const auto& [severity, count] : counts["findings_by_severity"].items()) found += count.get<std::uint64_t>();
  EXPECT_GT(found, 0u);
  EXPECT_EQ(found, json("runs/run/findings")["findings"].size());
}

TEST_F(RunListTest, TheNextPartHasCountsToo) {
  record_run("a", {});
  record_run("b", {});
  const Json first = json("runs", "with_counts=1&limit=1");
  EXPECT_EQ(first["next"], "runs?offset=1&limit=1&with_counts=1");
}

TEST_F(RunListTest, TellsWhatChangedSinceTheLastRunOfTheCommand) {
  record_run("oldest", {.casts = 9, .begin_s = 10});
  record_run("before", {.casts = 2, .begin_s = 20});
  record_run("other", {.casts = 7, .begin_s = 30, .command = {"python", "other.py"}});
  record_run("after", {.casts = 3, .begin_s = 40});
  const Json told = json("runs/after/changes");
  EXPECT_EQ(told["previous_run"], "before");
  EXPECT_EQ(told["changes"]["total_changes"]["casts"], Json({{"before", 4}, {"after", 6}}));
  EXPECT_EQ(told["changes"]["total_changes"]["step_count"], Json({{"before", 2}, {"after", 2}}));
  EXPECT_EQ(told["changes"]["finding_changes"]["new_findings"].size(), 0u);
  EXPECT_EQ(told["changes"]["differs"], true);
  for (const RunPtr& run : runs_.all()) EXPECT_EQ(run->known_snapshot(), nullptr);
  EXPECT_EQ(json("runs/oldest/changes"), Json({{"previous_run", nullptr}, {"changes", nullptr}}));
  EXPECT_EQ(json("runs/other/changes")["previous_run"], nullptr);
}

TEST_F(RunListTest, FindingsComeAndGo) {
  record_run("before", {.casts = 1, .begin_s = 20});
  record_run("after", {.casts = 3, .begin_s = 40});
  const Json changes = json("runs/after/changes")["changes"]["finding_changes"];
  ASSERT_EQ(changes["new_findings"].size(), 1u);
  EXPECT_EQ(changes["new_findings"][0]["rule"], "weight-cast-repeatedly");
  EXPECT_EQ(changes["fixed_findings"].size(), 0u);
}

}  // namespace
}  // namespace castscope::web
