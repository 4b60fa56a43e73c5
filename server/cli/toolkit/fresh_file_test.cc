#include "server/cli/toolkit/fresh_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

namespace castscope::cli {
namespace {

namespace fs = std::filesystem;

class FreshFileTest : public ::testing::Test {
 protected:
  FreshFileTest() {
    std::string pattern = (fs::temp_directory_path() / "castscope-fresh-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~FreshFileTest() override { fs::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string text(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(folder_ / name).rdbuf();
    return text.str();
  }
  std::set<std::string> names() const {
    std::set<std::string> all;
    for (const auto& entry : fs::directory_iterator(folder_)) all.insert(entry.path().filename().string());
    return all;
  }
  void write(const std::string& name, const std::string& text) { std::ofstream(folder_ / name) << text; }

  fs::path folder_;
};

TEST_F(FreshFileTest, AppearsWhenItIsWhole) {
  write("out", "before");
  FreshFile file(path("out"));
  EXPECT_TRUE(file.is_empty());
  file.stream() << std::string(200'000, 'x') << "end";
  EXPECT_EQ(text("out"), "before");
  ASSERT_TRUE(file.keep());
  EXPECT_EQ(text("out"), std::string(200'000, 'x') + "end");
  EXPECT_EQ(names(), std::set<std::string>{"out"});
}

TEST_F(FreshFileTest, NothingOfSomebodysIsTouchedOnTheWay) {
  write("out.new", "mine");
  write("precious", "mine too");
  FreshFile file(path("out"));
  file.stream() << "text";
  ASSERT_TRUE(file.keep());
  EXPECT_EQ(text("out.new") + text("precious"), "minemine too");
  EXPECT_EQ(names(), (std::set<std::string>{"out", "out.new", "precious"}));
}

TEST_F(FreshFileTest, WhatIsNotKeptLeavesNothing) {
  write("out", "before");
  FreshFile(path("out")).stream() << "half" << std::flush;
  EXPECT_EQ(text("out"), "before");
  EXPECT_EQ(names(), std::set<std::string>{"out"});
}

TEST_F(FreshFileTest, TwoThatWriteTheSameDoNotMix) {
  FreshFile one(path("out")), other(path("out"));
  one.stream() << "one" << std::flush;
  other.stream() << "other" << std::flush;
  ASSERT_TRUE(one.keep());
  EXPECT_EQ(text("out"), "one");
  ASSERT_TRUE(other.keep());
  EXPECT_EQ(text("out"), "other");
}

TEST_F(FreshFileTest, HasTheRightsOfAnyNewFile) {
  const mode_t before = umask(0027);
  FreshFile file(path("out"));
  umask(before);
  ASSERT_TRUE(file.keep());
  struct stat info {};
  ASSERT_EQ(stat(path("out").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0640u);
}

TEST_F(FreshFileTest, ANameMayBeAsLongAsNamesCan) {
  FreshFile file(path(std::string(255, 'n')));
  ASSERT_TRUE(file.is_open());
  EXPECT_TRUE(file.keep());
}

// Whoever opened the pipe would wait for its reader here, for ever.
TEST_F(FreshFileTest, WhatNobodyMeantIsReplacedAndNotOpened) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  fs::create_symlink(path("nowhere"), path("link"));
  for (const std::string& name : {"pipe", "link"}) {
    FreshFile file(path(name));
    file.stream() << name;
    EXPECT_TRUE(file.keep());
    EXPECT_EQ(text(name), name);
  }
  EXPECT_EQ(names(), (std::set<std::string>{"link", "pipe"}));
}

TEST_F(FreshFileTest, WhatFailsIsTold) {
  FreshFile nowhere(path("no/such/folder"));
  EXPECT_FALSE(nowhere.is_open());
  EXPECT_EQ(nowhere.error(), ENOENT);
  FreshFile full("/dev/full", FreshFile::Special::kWritten);
  ASSERT_TRUE(full.is_open());
  full.stream() << "text";
  EXPECT_FALSE(full.keep());
  EXPECT_EQ(full.error(), ENOSPC);
  FreshFile folder(folder_.string());
  EXPECT_FALSE(folder.keep());
  EXPECT_EQ(folder.error(), EISDIR);
  EXPECT_EQ(FreshFile(folder_.string(), FreshFile::Special::kWritten).error(), EISDIR);
}

}  // namespace
}  // namespace castscope::cli
