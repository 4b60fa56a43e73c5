#include "server/cli/toolkit/cache_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <thread>

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
    const std::vector<std::string> there = cache_folders(kept);
    const std::string folder = make ? cache_folder(kept).value_or("none") : there.empty() ? "none" : there[0];
    return fs::relative(folder, folder_).begin()->string();
  }
  static std::string in_home() { return *cache_folder(Kept::kPreload); }
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
// A folder that may not be searched, or whose name is too long: nobody can say whether it exists.
TEST_F(CacheFolder, ThatCannotBeLookedAtIsPassedOver) {
  setenv("XDG_CACHE_HOME", (folder_ / std::string(300, 'x')).c_str(), 1);
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

// What is there already is good, also where nothing can be added.
TEST_F(CacheFolder, ThatIsReadOnlyIsReadAndNotWritten) {
  if (geteuid() == 0)
    GTEST_SKIP() << "root can write everywhere: tests/integration/test_loading.py mounts such a folder";
  const std::string made = in_home();
  chmod(made.c_str(), 0500);
  EXPECT_EQ(cache_folders(Kept::kAgent)[0], made);
  EXPECT_EQ(place(true), "spare");
  EXPECT_THAT(folders_passed_over(Kept::kAgent), ::testing::HasSubstr("castscope is not used: you cannot write it"));
  chmod(made.c_str(), 0700);
}
TEST_F(CacheFolder, ThatIsPassedOverIsNamed) {
  EXPECT_EQ(folders_passed_over(Kept::kAgent), "");
  chmod(in_home().c_str(), 0777);
  EXPECT_THAT(folders_passed_over(Kept::kAgent), ::testing::HasSubstr("castscope is not used: others can write it"));
}
TEST_F(CacheFolder, HasNoFilesOfOthers) {
  const std::string file = in_home() + "/agent.so";
  EXPECT_FALSE(is_own_file(file));
  std::ofstream(file) << "x";
  EXPECT_TRUE(is_own_file(file));
  fs::create_symlink(file, file + ".link");
  EXPECT_FALSE(is_own_file(file + ".link"));
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to give a file away";
  ASSERT_EQ(chown(file.c_str(), 54321, 54321), 0);
  EXPECT_FALSE(is_own_file(file));
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
// Whether a thread of this process waits for something.
bool waits(pid_t thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
  const std::string stat((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  return stat.find(") S") != std::string::npos;
}

TEST_F(CacheFolder, WhoWaitsForTheLockIsToldOfABuildAlone) {
  std::atomic<bool> told = false;
  const Say say = [&](const std::string& sentence) {
    EXPECT_THAT(sentence, ::testing::HasSubstr("another castscope is building in "));
    told = true;
  };
  auto holder = std::make_unique<FolderLock>(in_home(), nullptr);
  std::atomic<pid_t> waiting = 0;
  std::thread waiter([&] {
    waiting = gettid();
    const FolderLock lock(in_home(), &say);
  });
  while (waiting == 0 || !waits(waiting)) std::this_thread::yield();
  EXPECT_FALSE(told);
  holder->note_build();
  while (!told) std::this_thread::yield();
  holder.reset();
  waiter.join();
}

TEST_F(CacheFolder, ABuildThatWasKilledIsOver) {
  std::ofstream(in_home() + "/lock") << "x";
  const Say say = [](const std::string& sentence) { ADD_FAILURE() << sentence; };
  const FolderLock lock(in_home(), &say);
  EXPECT_EQ(fs::file_size(in_home() + "/lock"), 0u);
}

TEST_F(CacheFolder, IsNamedByTheArchitecture) {
  const std::string name = fs::path(in_home()).filename().string();
  EXPECT_TRUE(name.ends_with("-x86_64") || name.ends_with("-aarch64")) << name;
}

}  // namespace
}  // namespace castscope::cli
