#include "server/judging/run_judge.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "server/store/testing/run_folder.h"

namespace castscope::judging {
namespace {

using store::cast_twice;

class RunJudgeTest : public ::testing::Test {
 protected:
  store::RunFolder folder_;
  std::shared_ptr<store::RunStore> store_ = folder_.begin_run();
};

TEST_F(RunJudgeTest, WhoAsksMeanwhileGetsTheSame) {
  store::TestRun run(*store_);
  RunJudge judge(store_, {});
  cast_twice(run, 10);
  const JudgedRunPtr first = *judge.judge();
  EXPECT_EQ(first->judgement.findings.size(), 1u);
  EXPECT_EQ(*judge.judge(), first);
  cast_twice(run, 20);
  const JudgedRunPtr second = *judge.judge();
  EXPECT_NE(second, first);
  EXPECT_EQ(second->judgement.findings.size(), 2u);
}

TEST_F(RunJudgeTest, FindingsAreNoEvidence) {
  store::TestRun run(*store_);
  RunJudge judge(store_, {});
  cast_twice(run, 10);
  const JudgedRunPtr first = *judge.judge();
  ASSERT_TRUE(store_->set_findings(first->judgement.findings).ok());
  ASSERT_TRUE(store_->commit().ok());
  EXPECT_EQ(*judge.judge(), first);
}

TEST_F(RunJudgeTest, ManyMayAskAtOnce) {
  store::TestRun run(*store_);
  RunJudge judge(store_, {});
  cast_twice(run, 10);
  std::vector<JudgedRunPtr> answers(8);
  std::vector<std::thread> threads;
  for (JudgedRunPtr& one : answers) threads.emplace_back([&] { one = *judge.judge(); });
  for (std::thread& thread : threads) thread.join();
  for (const JudgedRunPtr& one : answers) EXPECT_EQ(one, answers[0]);
}

TEST_F(RunJudgeTest, AFileThatIsGoneIsToldByItsWriter) {
  store::TestRun run(*store_);
  RunJudge judge(store_, {});
  cast_twice(run, 10);
  std::filesystem::remove(folder_ / "run.castscope");
  const auto judged = judge.judge();
  ASSERT_TRUE(judged.ok()) << judged.status().message();
  EXPECT_EQ((*judged)->judgement.findings.size(), 1u);
}

}  // namespace
}  // namespace castscope::judging
