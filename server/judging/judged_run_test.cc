#include "server/judging/judged_run.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>

#include "server/store/testing/test_run.h"
#include "server/store/write/run_store.h"

namespace castscope::judging {
namespace {

class JudgedRunTest : public ::testing::Test {
 protected:
  JudgedRunTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "castscope-judged-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~JudgedRunTest() override { std::filesystem::remove_all(folder_); }

  std::string file() const { return (folder_ / "run.castscope").string(); }
  // Records frozen weights that are cast twice in a region, at line 2 of train.py: weight-cast-repeatedly.
  store::RunData recorded() {
    store::RunStart start;
    start.cwd = folder_.string();
    start.start_ns = std::numeric_limits<std::int64_t>::max();  // every source file is older
    auto store = store::RunStore::create(file(), start);
    EXPECT_TRUE(store.ok()) << store.status().message();
    store::TestRun run(**store);
    const std::string source = (folder_ / "train.py").string();
    run.enter(run.region("train.py", 1));
    const auto weight = run.site({.stack = run.stack({{source, "train", 2}}),
                                  .module = run.module("head"),
                                  .call_site = run.call_site("aten::linear", 1, "weight"),
                                  .region = 1,
                                  .op = "",
                                  .role = lanes::Role::kWeight,
                                  .cause = lanes::Cause::kAutocast,
                                  .why = lanes::WhyNotCached::kNoRequiresGrad,
                                  .phase = lanes::Phase::kForward,
                                  .from = store::kFloat32,
                                  .to = store::kBFloat16,
                                  .flags = lanes::kSiteParameter});
    run.cast(weight, 0x100).cast(weight, 0x100).exit().end();
    const auto data = (*store)->read();
    EXPECT_TRUE(data.ok()) << data.status().message();
    EXPECT_TRUE((*store)->close().ok());
    return *data;
  }

  std::filesystem::path folder_;
};

TEST_F(JudgedRunTest, CommentsOnTheDiskSilenceWhatIsRead) {
  std::ofstream(folder_ / "train.py") << "with autocast():\n  head(x)  # castscope: ignore\n";
  const store::RunData data = recorded();
  EXPECT_EQ(judged(data, {})->judgement.findings.size(), 1u);
  const JudgedRunPtr read = judged(data, {}, Lines::kFromDisk);
  EXPECT_TRUE(read->judgement.findings.empty());
  EXPECT_EQ(read->judgement.ignored_in_code, 1u);
  EXPECT_EQ(read->data.source.line((folder_ / "train.py").string(), 2), "  head(x)  # castscope: ignore");
}

TEST_F(JudgedRunTest, OfARunFileAndOfWhatIsNone) {
  (void)recorded();
  const auto run = read_and_judge(file(), {});
  ASSERT_TRUE(run.ok()) << run.status().message();
  EXPECT_EQ((*run)->judgement.findings.size(), 1u);
  EXPECT_FALSE(read_and_judge(file() + ".none", {}).ok());
}

}  // namespace
}  // namespace castscope::judging
