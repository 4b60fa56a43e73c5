#include "server/files/owner.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace castscope::files {
namespace {

namespace fs = std::filesystem;

constexpr uid_t kStranger = 12345, kOther = 12346;

// Giving files to others needs root.
class OwnerTest : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "only root can give files to others";
    fs::create_directories(folder_);
    std::ofstream(file()) << "{}";
  }
  ~OwnerTest() override { fs::remove_all(folder_); }
  std::string file() const { return (folder_ / "file").string(); }
  void give_folder(uid_t owner, mode_t mode) const {
    ASSERT_EQ(chown(folder_.c_str(), owner, 0), 0);
    ASSERT_EQ(chmod(folder_.c_str(), mode), 0);
  }
  std::optional<uid_t> stranger() const {
    struct stat opened {};
    return stranger_who_owns(file(), stat(file().c_str(), &opened) == 0 ? &opened : nullptr);
  }

  const fs::path folder_ = fs::path(testing::TempDir()) / ("owner-" + std::to_string(getpid()));
};

TEST_F(OwnerTest, AStrangersFileInASharedFolderDoesNotCount) {
  give_folder(0, 01777);
  EXPECT_EQ(stranger(), std::nullopt);
  ASSERT_EQ(chown(file().c_str(), kStranger, 0), 0);
  EXPECT_EQ(stranger(), kStranger);
}

// Root in a container, in a checkout of the user who cloned it.
TEST_F(OwnerTest, TheOwnerOfTheFolderCounts) {
  give_folder(kStranger, 0755);
  ASSERT_EQ(chown(file().c_str(), kStranger, 0), 0);
  EXPECT_EQ(stranger(), std::nullopt);
  ASSERT_EQ(chown(file().c_str(), kOther, 0), 0);
  EXPECT_EQ(stranger(), kOther);
}

// Where this process knows no names, two strangers may look like one: a shared folder's owner is nobody special.
TEST_F(OwnerTest, TheOwnerOfAFolderThatEverybodyMayWriteToDoesNotCount) {
  give_folder(kStranger, 01777);
  ASSERT_EQ(chown(file().c_str(), kStranger, 0), 0);
  EXPECT_EQ(stranger(), kStranger);
}

TEST_F(OwnerTest, ALinkIsTheWordOfWhoMadeIt) {
  give_folder(0, 01777);
  fs::rename(file(), folder_ / "target");
  fs::create_symlink(folder_ / "target", file());
  ASSERT_EQ(chown((folder_ / "target").c_str(), kStranger, 0), 0);
  EXPECT_EQ(stranger(), std::nullopt);  // root's link
  ASSERT_EQ(lchown(file().c_str(), kStranger, 0), 0);
  ASSERT_EQ(chown((folder_ / "target").c_str(), 0, 0), 0);
  EXPECT_EQ(stranger(), kStranger);  // a stranger's, to root's file
}

TEST_F(OwnerTest, WhatWasOpenedCountsBesideTheName) {
  give_folder(0, 01777);
  struct stat opened {};
  opened.st_uid = kStranger;
  EXPECT_EQ(stranger_who_owns(file(), &opened), kStranger);
}

}  // namespace
}  // namespace castscope::files
