#include "server/cli/recording/live_findings.h"

#include <gtest/gtest.h>

#include "server/rules/judgement.h"
#include "server/store/read/run_reader.h"
#include "server/store/testing/run_folder.h"

namespace castscope::cli {
namespace {

using std::chrono::milliseconds;
using store::cast_twice;
using store::TestRun;

class LiveFindingsTest : public ::testing::Test {
 protected:
  std::unique_ptr<LiveFindings> watch(rules::Settings settings = {}) {
    return std::make_unique<LiveFindings>(std::make_shared<judging::RunJudge>(store_, std::move(settings)),
                                          LiveFindingsPace{.least_pause = milliseconds(1), .share = 1});
  }
  std::vector<store::Finding> next(LiveFindings& live) {
    std::vector<store::Finding> fresh;
    while (fresh.empty()) {
      fresh = live.take_new();
      std::this_thread::yield();
    }
    return fresh;
  }

  store::RunFolder folder_;
  std::shared_ptr<store::RunStore> store_ = folder_.begin_run();
};

TEST_F(LiveFindingsTest, TellsEachFindingOnceAndTheFileHasThem) {
  TestRun run(*store_);
  const auto live = watch();
  cast_twice(run, 10);
  ASSERT_EQ(next(*live).size(), 1u);
  cast_twice(run, 20);
  const auto fresh = next(*live);
  ASSERT_EQ(fresh.size(), 1u);
  EXPECT_EQ(fresh[0].location->line, 21);
  EXPECT_EQ(one_line_of(fresh[0], "/home/user/project").find("performance weight-cast-repeatedly train.py:21: head"),
            0u);
}

TEST_F(LiveFindingsTest, TheLastWordIsThatOfTheFinishedRun) {
  TestRun run(*store_);
  {
    const auto live = watch();
    cast_twice(run, 10);
    (void)next(*live);
  }
  cast_twice(run, 20);
  run.end();
  ASSERT_TRUE(store_->set_findings(rules::judgement_of(*store_->read()).findings).ok());
  ASSERT_TRUE(store_->close().ok());
  const auto data = store::read_run((folder_ / "run.castscope").string());
  ASSERT_TRUE(data.ok());
  EXPECT_EQ(rules::judgement_of(*data).findings.size(), 2u);
}

TEST_F(LiveFindingsTest, SettingsCount) {
  rules::Settings settings;
  settings.severity["weight-cast-repeatedly"] = "error";
  TestRun run(*store_);
  const auto live = watch(settings);
  cast_twice(run, 10);
  EXPECT_EQ(next(*live)[0].severity, "error");
}

}  // namespace
}  // namespace castscope::cli
