#include "server/cli/recording/git_status.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "server/cli/toolkit/child.h"

namespace castscope::cli {
namespace {

namespace fs = std::filesystem;

class GitStatusTest : public ::testing::Test {
 protected:
  GitStatusTest() {
    std::string pattern = (fs::temp_directory_path() / "castscope-status-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    make("repo");
  }
  ~GitStatusTest() override { fs::remove_all(folder_); }

  void git(const std::string& checkout, const std::vector<std::string>& words) const {
    std::vector<std::string> command{"git", "-C", (folder_ / checkout).string()};
    for (const char* const setting : {"user.name=a", "user.email=a@b", "protocol.file.allow=always"})
      command.insert(command.end(), {"-c", setting});
    command.insert(command.end(), words.begin(), words.end());
    const auto done = run_child(command);
    ASSERT_TRUE(done.ok() && done->status == 0) << done->err;
  }
  // A checkout with one commit.
  void make(const std::string& checkout) const {
    fs::create_directory(folder_ / checkout);
    git(checkout, {"init", "-q"});
    write(checkout + "/train.py", "one");
    write(checkout + "/model.bin", "weights");
    git(checkout, {"add", "."});
    git(checkout, {"commit", "-q", "-m", "first"});
  }
  // Configures a filter for *.bin, as Git LFS does: Git commits what the program prints. The program leaves a trace.
  void filter(const std::string& checkout) const {
    git(checkout, {"config", "filter.evil.clean", "touch " + (folder_ / "ran").string() + "; tr a-z A-Z"});
    git(checkout, {"config", "filter.evil.required", "true"});
    write(checkout + "/.git/info/attributes", "*.bin filter=evil\n");
    git(checkout, {"add", "--renormalize", "."});
    git(checkout, {"commit", "-q", "-m", "filtered"});
    fs::remove(folder_ / "ran");
  }
  void write(const std::string& name, const std::string& text) const { std::ofstream(folder_ / name) << text; }
  // The file's time is another one from now on, its bytes are the same.
  void touch(const std::string& name) const { fs::last_write_time(folder_ / name, fs::file_time_type::clock::now()); }
  std::optional<bool> asked(const std::string& checkout = "repo") const {
    return differs_from_commit((folder_ / checkout).string(), [] { return false; });
  }
  bool filter_ran() const { return fs::exists(folder_ / "ran"); }

  fs::path folder_;
};

TEST_F(GitStatusTest, SaysWhetherFilesThatGitKnowsDiffer) {
  EXPECT_EQ(asked(), false);
  write("repo/run.castscope", "not Git's");
  touch("repo/train.py");
  EXPECT_EQ(asked(), false);
  write("repo/train.py", "two");
  EXPECT_EQ(asked(), true);
  EXPECT_EQ(asked("none"), std::nullopt);
}

TEST_F(GitStatusTest, NoFilterOfTheCheckoutIsStarted) {
  filter("repo");
  touch("repo/model.bin");
  EXPECT_EQ(asked(), std::nullopt) << "the filter alone could say";
  touch("repo/train.py");
  EXPECT_EQ(asked(), std::nullopt);
  write("repo/train.py", "two");
  EXPECT_EQ(asked(), true);
  EXPECT_FALSE(filter_ran());
}

TEST_F(GitStatusTest, AFileThatIsGoneOrStagedDiffersWhateverItsFilter) {
  filter("repo");
  fs::remove(folder_ / "repo/model.bin");
  EXPECT_EQ(asked(), true);
  EXPECT_FALSE(filter_ran());
}

TEST_F(GitStatusTest, AProcessIsNoOtherFilter) {
  filter("repo");
  git("repo", {"config", "--unset", "filter.evil.clean"});
  git("repo", {"config", "filter.evil.process", "touch " + (folder_ / "ran").string()});
  touch("repo/model.bin");
  EXPECT_EQ(asked(), std::nullopt);
  EXPECT_FALSE(filter_ran());
}

TEST_F(GitStatusTest, AFilterThatCannotBeSwitchedOffIsNotMet) {
  filter("repo");
  git("repo", {"config", "filter.a=b.clean", "touch " + (folder_ / "ran").string()});
  write("repo/.git/info/attributes", "*.bin filter=a=b\n");
  touch("repo/model.bin");
  EXPECT_EQ(asked(), std::nullopt);
  EXPECT_FALSE(filter_ran());
}

TEST_F(GitStatusTest, SubmodulesAreAskedWithoutTheirFilters) {
  make("library");
  git("repo", {"submodule", "--quiet", "add", (folder_ / "library").string(), "library"});
  git("repo", {"commit", "-q", "-m", "library"});
  EXPECT_EQ(asked(), false);
  write("repo/library/train.py", "two");
  EXPECT_EQ(asked(), true);
  write("repo/library/train.py", "one");
  git("repo/library", {"config", "filter.evil.clean", "touch " + (folder_ / "ran").string() + "; cat"});
  write("repo/.git/modules/library/info/attributes", "*.bin filter=evil\n");
  touch("repo/library/model.bin");
  EXPECT_EQ(asked(), false) << "its bytes are those that were committed";
  EXPECT_FALSE(filter_ran());
}

}  // namespace
}  // namespace castscope::cli
