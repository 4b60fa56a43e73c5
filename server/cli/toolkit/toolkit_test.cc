#include "server/cli/toolkit/toolkit.h"

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
  // "home", "spare", "none"
  std::string place(bool make) const {
    auto folder = cache_folder(make);
    return folder.ok() ? fs::relative(*folder, folder_).begin()->string() : "none";
  }
  fs::path folder_;
};

TEST_F(CacheFolder, IsMadeForUsAlone) {
  const mode_t before = umask(0002);
  EXPECT_EQ(place(false), "none");
  EXPECT_EQ(place(true), "home");
  EXPECT_EQ(place(false), "home");
  umask(before);
  struct stat info;
  ASSERT_EQ(stat(cache_folder(false)->c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
}

// Files in such a folder could be loaded into the job.
TEST_F(CacheFolder, ThatOthersCanWriteIsNotTrusted) {
  ASSERT_EQ(place(true), "home");
  chmod(cache_folder(true)->c_str(), 0777);
  EXPECT_EQ(place(false), "none");
  EXPECT_EQ(place(true), "spare");
}
TEST_F(CacheFolder, InAFolderThatOthersCanWriteIsNotTrusted) {
  ASSERT_EQ(place(true), "home");
  chmod((folder_ / "home").c_str(), 0777);
  EXPECT_EQ(place(false), "none");
}
TEST_F(CacheFolder, BehindALinkIsNotTrusted) {
  ASSERT_EQ(place(true), "home");
  fs::rename(folder_ / "home/castscope", folder_ / "elsewhere");
  fs::create_directory_symlink(folder_ / "elsewhere", folder_ / "home/castscope");
  EXPECT_EQ(place(false), "none");
}
TEST_F(CacheFolder, OfSomebodyElseIsNotTrusted) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to give a folder away";
  unsetenv("XDG_CACHE_HOME");
  unsetenv("HOME");
  ASSERT_EQ(place(true), "spare");
  EXPECT_EQ(place(false), "spare");
  ASSERT_EQ(chown(cache_folder(false)->c_str(), 54321, 54321), 0);
  EXPECT_EQ(place(false), "none");
  EXPECT_EQ(place(true), "none");
}

}  // namespace
}  // namespace castscope::cli
