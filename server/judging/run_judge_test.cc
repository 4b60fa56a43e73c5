#include "server/judging/run_judge.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <thread>

#include "server/store/testing/test_run.h"

namespace castscope::judging {
namespace {

class RunJudgeTest : public ::testing::Test {
 protected:
  RunJudgeTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "castscope-judge-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    auto store = store::RunStore::create((folder_ / "run.castscope").string(), {});
    EXPECT_TRUE(store.ok()) << store.status().message();
    store_ = *std::move(store);
  }
  ~RunJudgeTest() override { std::filesystem::remove_all(folder_); }

  // Records frozen weights that are cast twice in a region: weight-cast-repeatedly.
  static void cast_twice(store::TestRun& run, int line) {
    run.enter(run.region("train.py", line));
    const auto weight = run.weight("train.py", line + 1, "head", lanes::WhyNotCached::kNoRequiresGrad);
    run.cast(weight, 0x100).cast(weight, 0x100).exit().flush();
  }

  std::filesystem::path folder_;
  std::shared_ptr<store::RunStore> store_;
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
  std::vector<JudgedRunPtr> told(8);
  std::vector<std::thread> threads;
  for (JudgedRunPtr& one : told) threads.emplace_back([&] { one = *judge.judge(); });
  for (std::thread& thread : threads) thread.join();
  for (const JudgedRunPtr& one : told) EXPECT_EQ(one, told[0]);
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
