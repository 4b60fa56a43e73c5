#include "server/cli/recording/git_dirty.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <optional>

namespace castscope::cli {
namespace {

namespace fs = std::filesystem;

// A `git` of the test's own stands first on the PATH.
class GitDirtyTest : public ::testing::Test {
 protected:
  GitDirtyTest() : path_(getenv("PATH")) {
    std::string pattern = (fs::temp_directory_path() / "castscope-dirty-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    setenv("PATH", (folder_.string() + ":" + path_).c_str(), 1);
  }
  ~GitDirtyTest() override {
    setenv("PATH", path_.c_str(), 1);
    fs::remove_all(folder_);
  }
  void git(const std::string& script) {
    std::ofstream(folder_ / "git") << "#!/bin/sh\n" << script << "\n";
    chmod((folder_ / "git").c_str(), 0755);
  }
  // What was told until the end.
  std::optional<bool> told() {
    std::optional<bool> dirty;
    {
      const GitDirty asking(folder_.string(), [&](bool is) { dirty = is; });
    }
    return dirty;
  }
  std::string path_;
  fs::path folder_;
};

TEST_F(GitDirtyTest, IsWhatGitSays) {
  git("case $* in *' config '*) exit 1; esac; printf ' M train.py\\0'");
  EXPECT_EQ(told(), true);
  git("exit 0");
  EXPECT_EQ(told(), false);
}

TEST_F(GitDirtyTest, IsNotKnownWhereGitFailsOrDoesNotAnswer) {
  git("echo ' M train.py'; exit 128");
  EXPECT_EQ(told(), std::nullopt);
  git("exec sleep 1000");
  EXPECT_EQ(told(), std::nullopt) << "it is ended with the recording";
}

TEST_F(GitDirtyTest, NothingIsAskedOutsideOfACheckout) {
  git("echo > asked");
  bool was_told = false;
  {
    const GitDirty asking("", [&](bool) { was_told = true; });
  }
  EXPECT_FALSE(was_told);
  EXPECT_FALSE(fs::exists(folder_ / "asked"));
}

}  // namespace
}  // namespace castscope::cli
