#include "server/cli/job/git_state.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

namespace castscope::cli {
namespace {

namespace fs = std::filesystem;

constexpr char kCommit[] = "0123456789abcdef0123456789abcdef01234567";

class GitStateTest : public ::testing::Test {
 public:
  GitStateTest() {
    std::string pattern = (fs::temp_directory_path() / "castscope-git-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~GitStateTest() override { fs::remove_all(folder_); }
  GitStateTest& has(const fs::path& file, const std::string& text) {
    fs::create_directories((folder_ / file).parent_path());
    std::ofstream(folder_ / file) << text;
    return *this;
  }

 protected:
  GitFacts facts(const fs::path& checkout = "") const { return git_facts((folder_ / checkout).string()); }
  fs::path folder_;
};

TEST_F(GitStateTest, ABranch) {
  has(".git/HEAD", "ref: refs/heads/feature/x\n").has(".git/refs/heads/feature/x", std::string(kCommit) + "\n");
  has(".git/config",
      "[core]\n\tbare = false\n[remote \"other\"]\n\turl = /srv/other\n[remote \"origin\"]\n\tfetch = +refs\n"
      "\turl = https://me:secret@example.com/a/b.git\n[branch \"main\"]\n\tremote = origin\n");
  EXPECT_EQ(facts().branch, "feature/x");
  EXPECT_EQ(facts().commit, kCommit);
  EXPECT_EQ(facts().origin, "https://example.com/a/b.git");
}

TEST_F(GitStateTest, ABranchThatIsPacked) {
  has(".git/HEAD", "ref: refs/heads/main\n");
  has(".git/packed-refs", "# pack-refs with: peeled\nffffffffffffffffffffffffffffffffffffffff refs/heads/mainly\n" +
                              std::string(kCommit) + " refs/heads/main\n^ffffffffffffffffffffffffffffffffffffffff\n");
  EXPECT_EQ(facts().commit, kCommit);
}

TEST_F(GitStateTest, NoBranch) {
  has(".git/HEAD", std::string(kCommit) + "\n");
  EXPECT_EQ(facts().commit, kCommit);
  EXPECT_EQ(facts().branch, "");
  EXPECT_EQ(facts().origin, "");
}

TEST_F(GitStateTest, AWorktreeSharesRefsAndConfig) {
  has("main/.git/refs/heads/side", kCommit).has("main/.git/config", "[remote \"origin\"]\nurl = \"/srv/a.git\"\n");
  has("main/.git/worktrees/side/HEAD", "ref: refs/heads/side").has("main/.git/worktrees/side/commondir", "../..\n");
  has("side/.git", "gitdir: " + (folder_ / "main/.git/worktrees/side").string() + "\n");
  EXPECT_EQ(facts("side").commit, kCommit);
  EXPECT_EQ(facts("side").branch, "side");
  EXPECT_EQ(facts("side").origin, "/srv/a.git");
  has("beside/.git", "gitdir: ../main/.git/worktrees/side\n");
  EXPECT_EQ(facts("beside").commit, kCommit);
}

TEST_F(GitStateTest, WhatIsNotThereOrMakesNoSenseIsNotKnown) {
  EXPECT_EQ(facts().commit, "");
  for (const char* head : {"", "nonsense", "ref: refs/heads/none", "ref: ../../etc/passwd",
                           "ref: refs/heads/../../config", "0123456789abcdef", "ref: refs/heads/.invalid"}) {
    has(".git/HEAD", head).has(".git/config", "url = /before/any/section\n");
    EXPECT_EQ(facts().commit, "") << head;
    EXPECT_EQ(facts().origin, "") << head;
  }
  EXPECT_EQ(facts().branch, "");
  fs::remove(folder_ / ".git/HEAD");
  ASSERT_EQ(mkfifo((folder_ / ".git/HEAD").c_str(), 0600), 0);
  EXPECT_EQ(facts().commit, "") << "nobody writes into it: reading would not end";
}

TEST(WithoutCredentials, OnlyTheAddressIsLeft) {
  for (const auto& [url, left] :
       {std::pair("https://token@host/a", "https://host/a"), std::pair("https://u:p@w@host/a", "https://host/a"),
        std::pair("https://host/a@b", "https://host/a@b"), std::pair("https://host", "https://host"),
        std::pair("ssh://git@host/a", "ssh://git@host/a"), std::pair("ssh://git:p@host:22/a", "ssh://git@host:22/a"),
        std::pair("git@host:a/b", "git@host:a/b"), std::pair("/srv/a", "/srv/a"),
        std::pair("https://t@host", "https://host")})
    EXPECT_EQ(without_credentials(url), left) << url;
}

}  // namespace
}  // namespace castscope::cli
