#include "server/cli/recording/findings_log.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <new>

#include "server/store/testing/run_folder.h"

namespace castscope::cli {
namespace {

using std::chrono::milliseconds;
using store::cast_twice;
using store::TestRun;

class FindingsLogTest : public ::testing::Test {
 protected:
  std::size_t logged() {
    const std::lock_guard lock(mutex_);
    return lines_.size();
  }
  void wait_for(std::size_t lines) {
    while (logged() < lines) std::this_thread::yield();
  }
  static void conclude(FindingsLog& log, const std::string& id, store::RunStore& store) {
    log.end(id, *judging::judged(*store.read(), {}));
    EXPECT_TRUE(store.close().ok());
  }

  store::RunFolder folder_;
  std::mutex mutex_;
  std::vector<std::string> lines_;
  FindingsLog log_{{.log =
                        [this](const LogLine& line) {
                          const std::lock_guard lock(mutex_);
                          lines_.push_back(line.text);
                        },
                    .least_pause = milliseconds(1),
                    .share = 1}};
};

TEST_F(FindingsLogTest, WhileRunsGoOn) {
  const auto one = folder_.begin_run("one"), other = folder_.begin_run("other");
  log_.begin("one", std::make_shared<judging::RunJudge>(one, rules::Settings()));
  log_.begin("other", std::make_shared<judging::RunJudge>(other, rules::Settings()));
  TestRun run(*one), another(*other, 200);
  cast_twice(run, 10);
  wait_for(1);
  cast_twice(another, 10);
  wait_for(2);
  EXPECT_EQ(lines_[0].find("run one: performance weight-cast-repeatedly at train.py:11, process 100 on host: "), 0u)
      << lines_[0];
  EXPECT_EQ(lines_[1].find("run other: performance weight-cast-repeatedly at train.py:11, process 200 on host: "), 0u)
      << lines_[1];
  run.end();
  conclude(log_, "one", *one);
  conclude(log_, "other", *other);
  EXPECT_EQ(logged(), 2u);
}

TEST_F(FindingsLogTest, AfterAJudgementWithoutMemoryTheNextOneTellsIt) {
  std::atomic<int> told = 0;
  FindingsLog poor{{.log = [&](const LogLine&) { told++ == 0 ? throw std::bad_alloc() : void(); },
                    .least_pause = milliseconds(1),
                    .share = 1}};
  const auto one = folder_.begin_run("one");
  poor.begin("one", std::make_shared<judging::RunJudge>(one, rules::Settings()));
  TestRun run(*one);
  cast_twice(run, 10);
  while (told == 0) std::this_thread::yield();
  cast_twice(run, 20);
  while (told < 2) std::this_thread::yield();
}

// The writer notices it, since it holds the file open.
TEST_F(FindingsLogTest, ARunWhoseFileWasMovedAwayIsTold) {
  const auto one = folder_.begin_run("one");
  TestRun run(*one);
  cast_twice(run, 10);
  std::filesystem::rename(folder_ / "one.castscope", folder_ / "away");
  log_.begin("one", std::make_shared<judging::RunJudge>(one, rules::Settings()));
  wait_for(1);
  EXPECT_EQ(lines_[0].find("run one: "), 0u) << lines_[0];
}

TEST_F(FindingsLogTest, WhatComesUpInTheEndIsToldThen) {
  const auto one = folder_.begin_run("one");
  TestRun run(*one);
  cast_twice(run, 10);
  const judging::JudgedRunPtr judged = judging::judged(*one->read(), {});
  FindingsLog slow{
      {.log = [this](const LogLine& line) { lines_.push_back(line.text); }, .least_pause = std::chrono::hours(1)}};
  slow.begin("one", std::make_shared<judging::RunJudge>(one, rules::Settings()));
  slow.end("one", *judged);
  EXPECT_EQ(lines_.size(), 1u);
}

TEST_F(FindingsLogTest, WhoComesBackIsNotToldAgain) {
  auto one = folder_.begin_run("one");
  log_.begin("one", std::make_shared<judging::RunJudge>(one, rules::Settings()));
  {
    TestRun run(*one);
    cast_twice(run, 10);
    wait_for(1);
    log_.end("one", *judging::judged(*one->read(), {}));
  }
  log_.begin("one", std::make_shared<judging::RunJudge>(one, rules::Settings()));
  TestRun again(*one, 300);
  cast_twice(again, 20);
  wait_for(2);
  EXPECT_NE(lines_[1].find("train.py:21"), std::string::npos);
}

}  // namespace
}  // namespace castscope::cli
