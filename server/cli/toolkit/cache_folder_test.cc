#include "server/cli/toolkit/cache_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace castscope::cli {
namespace {

namespace fs = std::filesystem;

class CacheFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("toolkit-" + std::to_string(getpid()));
    fs::create_directories(folder_ / "home");
    fs::create_directories(folder_ / "spare");
    chmod(folder_.c_str(), 0755);
    setenv("XDG_CACHE_HOME", (folder_ / "home").c_str(), 1);
    setenv("TMPDIR", (folder_ / "spare").c_str(), 1);
  }
  void TearDown() override {
    fs::remove_all(folder_);
    unsetenv("XDG_CACHE_HOME");
    unsetenv("TMPDIR");
  }
  // "home", "spare", or ".." for a folder that all users share
  std::string place(bool make, Kept kept = Kept::kPreload) const {
    auto folder = cache_folder(kept, make);
    return folder.ok() ? fs::relative(*folder, folder_).begin()->string() : "none";
  }
  static std::string in_home() { return *cache_folder(Kept::kPreload, true); }
  fs::path folder_;
};

TEST_F(CacheFolder, IsMadeForUsAlone) {
  const mode_t before = umask(0002);
  EXPECT_NE(place(false), "home");
  EXPECT_EQ(place(true), "home");
  EXPECT_EQ(place(false), "home");
  umask(before);
  struct stat info;
  ASSERT_EQ(stat(in_home().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
}

// Files in such a folder could be loaded into the job.
TEST_F(CacheFolder, ThatOthersCanWriteIsNotTrusted) {
  ASSERT_EQ(place(true), "home");
  chmod(in_home().c_str(), 0777);
  EXPECT_NE(place(false), "home");
  EXPECT_EQ(place(true), "spare");
}
TEST_F(CacheFolder, InAFolderThatOthersCanWriteIsNotTrusted) {
  ASSERT_EQ(place(true), "home");
  chmod((folder_ / "home").c_str(), 0777);
  EXPECT_NE(place(false), "home");
}
TEST_F(CacheFolder, BehindALinkIsNotTrusted) {
  ASSERT_EQ(place(true), "home");
  fs::rename(folder_ / "home/castscope", folder_ / "elsewhere");
  fs::create_directory_symlink(folder_ / "elsewhere", folder_ / "home/castscope");
  EXPECT_NE(place(false), "home");
}
TEST_F(CacheFolder, OfSomebodyElseIsNotTrusted) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to give a folder away";
  unsetenv("XDG_CACHE_HOME");
  unsetenv("HOME");
  ASSERT_EQ(place(true), "spare");
  EXPECT_EQ(place(false), "spare");
  ASSERT_EQ(chown(in_home().c_str(), 54321, 54321), 0);
  EXPECT_NE(place(false), "spare");
  EXPECT_NE(place(true), "spare");
}

// PYTHONPATH and CASTSCOPE_AGENTS separate paths by colons, LD_PRELOAD by blanks, too.
TEST_F(CacheFolder, CanBeNamedInTheVariableThatNamesIt) {
  fs::create_directory(folder_ / "a home");
  fs::create_directory(folder_ / "a:home");
  setenv("XDG_CACHE_HOME", (folder_ / "a home").c_str(), 1);
  EXPECT_EQ(place(true, Kept::kAgent), "a home");
  EXPECT_EQ(place(true, Kept::kPreload), "spare");
  setenv("XDG_CACHE_HOME", (folder_ / "a:home").c_str(), 1);
  EXPECT_EQ(place(true, Kept::kAgent), "spare");
  EXPECT_EQ(place(true, Kept::kPackage), "spare");
}
TEST_F(CacheFolder, IsNamedByTheArchitecture) {
  const std::string name = fs::path(in_home()).filename().string();
  EXPECT_TRUE(name.ends_with("-x86_64") || name.ends_with("-aarch64")) << name;
}

}  // namespace
}  // namespace castscope::cli
