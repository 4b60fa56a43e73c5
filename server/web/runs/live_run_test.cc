#include "server/web/runs/live_run.h"

#include "server/web/api/routes_test.h"

namespace castscope::web {
namespace {

using std::chrono::milliseconds;

class LiveRunTest : public RoutesTest {
 protected:
  std::shared_ptr<LiveRun> begin(bool goes_on = false, milliseconds pause = milliseconds(1)) {
    auto opened = goes_on ? store::RunStore::resume(path()) : store::RunStore::create(path(), start());
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    store_ = *std::move(opened);
    auto live = LiveRun::begin("run", std::make_shared<judging::RunJudge>(store_, rules::Settings()), start(), goes_on,
                               {.least_pause = pause, .share = 1});
    runs_.put(live);
    return live;
  }
  void conclude(LiveRun& live, RunState state = RunState::kFinished) {
    (void)store_->finish(
        {.end_ns = start().start_ns + 2'000'000'000, .exit_status = 0, .signal = {}, .complete = true});
    EXPECT_TRUE(store_->close().ok());
    live.concluded(state, nullptr);
  }
  // Asks again until `holds` is true of the answer.
  Json until(const std::string& path, const std::function<bool(const Json&)>& holds) {
    Json told = json(path);
    while (!holds(told)) told = json(path);
    return told;
  }

  std::shared_ptr<store::RunStore> store_;
};

TEST_F(LiveRunTest, WhatHappensIsSeenAtOnce) {
  const auto live = begin();
  EXPECT_EQ(json("runs/run")["totals"]["event_count"], 0);
  EXPECT_EQ(json("runs/run")["run_state"], "live");
  store::TestRun run(*live);
  record_events(run);
  run.flush();
  const Json told = json("runs/run");
  EXPECT_GT(told["totals"]["event_count"], 0);
  EXPECT_EQ(json("runs")["runs"][0]["event_count"], told["totals"]["event_count"]);
}

TEST_F(LiveRunTest, CountsAndFindingsFollow) {
  const auto live = begin();
  EXPECT_TRUE(json("runs/run/findings")["findings"].empty());
  store::TestRun run(*live);
  record_events(run);
  run.flush();
  const Json told = until("runs/run/findings", [](const Json& all) { return !all["findings"].empty(); });
  EXPECT_EQ(told["findings"][0]["rule"], "weight-cast-repeatedly");
  EXPECT_NE(told["findings"][0]["first_event_ns"], nullptr);
  EXPECT_EQ(json("runs/run/sites")["totals"]["casts"], 4);
  EXPECT_EQ(json("runs/run/definitions")["sites"][0]["fingerprint"], nullptr) << "its code is read at its end";
}

TEST_F(LiveRunTest, TheTimelineIsThatOfTheFile) {
  {
    const auto live = begin();
    store::TestRun run(*live);
    record_events(run);
    run.end();
    conclude(*live);
    const Json sums = json("runs/run/summary", window());
    const Json steps = json("runs/run/steps");
    runs_.put(std::make_shared<FileRun>("run", path(), FileRunOptions()));
    loaded();
    EXPECT_EQ(json("runs/run/summary", window()), sums);
    EXPECT_EQ(json("runs/run/steps"), steps);
  }
}

TEST_F(LiveRunTest, ARunThatGoesOnHasWhatWasBefore) {
  {
    auto store = create();
    store::TestRun run(*store);
    record_events(run);
    run.flush();
    EXPECT_TRUE(store->close().ok());
  }
  const auto live = begin(true);
  const Json before = json("runs/run/summary", window());
  EXPECT_GT(before["event_count"], 0);
  store::TestRun more(*live, 7);
  record_events(more);
  more.flush();
  EXPECT_EQ(json("runs/run/summary", window() + "&find=encoder")["by_subject"].size(), 2u);  // casts and a hit
  EXPECT_GT(json("runs/run/summary", window())["event_count"], before["event_count"]);
}

TEST_F(LiveRunTest, StatesOfARun) {
  const auto live = begin();
  EXPECT_EQ(json("runs/run")["run_state"], "live");
  conclude(*live, RunState::kLost);
  EXPECT_EQ(json("runs/run")["run_state"], "lost");
  live->concluded(RunState::kFinished, nullptr);
  EXPECT_EQ(json("runs/run")["run_state"], "finished");
  EXPECT_EQ(until("runs/run", [](const Json& run) { return !run["end_ns"].is_null(); })["exit_status"], 0);
  std::filesystem::remove(path());
  EXPECT_EQ(json("runs/run")["run_state"], "gone");
}

TEST_F(LiveRunTest, TheEndComesWithAllThatBelongsToIt) {
  const auto live = begin(false, std::chrono::hours(1));  // nothing is read again for that long
  store::TestRun run(*live);
  json("runs/run");
  record_events(run);
  run.end();
  EXPECT_FALSE(live->end_told());
  conclude(*live);
  const Json told = json("runs/run");
  EXPECT_EQ(told["run_state"], "finished");
  EXPECT_EQ(told["exit_status"], 0);
  EXPECT_EQ(told["totals"]["casts"], 4);
  EXPECT_TRUE(live->end_told());
  EXPECT_NE(json("runs/run/definitions")["sites"][0]["fingerprint"], nullptr);
}

// Nobody opens it, so no snapshot is made of it.
TEST_F(LiveRunTest, TheListTellsTheEndOfARunThatNobodyHasOpened) {
  const auto live = begin();
  EXPECT_EQ(json("runs")["runs"][0]["exit_status"], nullptr);
  (void)store_->finish({.end_ns = start().start_ns + 1, .exit_status = 5, .signal = {}, .complete = true});
  ASSERT_TRUE(store_->close().ok());
  const auto last = judging::read_and_judge(path(), rules::Settings());
  ASSERT_TRUE(last.ok()) << last.status();
  live->concluded(RunState::kFinished, *last);
  const Json told = json("runs")["runs"][0];
  EXPECT_EQ(told["run_state"], "finished");
  EXPECT_EQ(told["exit_status"], 5);
}

TEST_F(LiveRunTest, ADeletedFileIsStillToldOf) {
  const auto live = begin();
  json("runs/run");
  std::filesystem::remove(path());
  store::TestRun run(*live);
  record_events(run);
  run.flush();
  const Json told = until("runs/run", [](const Json& all) { return all["totals"]["casts"] == 4; });
  EXPECT_EQ(told["run_state"], "gone");
}

TEST_F(LiveRunTest, WatchedByWhoAsksForPictures) {
  const auto live = begin();
  const auto now = std::chrono::steady_clock::now();
  EXPECT_FALSE(live->watched(now));
  json("runs/run");
  EXPECT_FALSE(live->watched(now));
  EXPECT_EQ(ask("runs/run/picture", "window_begin_ns=0&window_end_ns=1000&columns=10").status, 200);
  EXPECT_TRUE(live->watched(std::chrono::steady_clock::now()));
  EXPECT_FALSE(live->watched(std::chrono::steady_clock::now() + std::chrono::seconds(6)));
}

}  // namespace
}  // namespace castscope::web
