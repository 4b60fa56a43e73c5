#include "server/config/settings_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <thread>

namespace castscope::config {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr uid_t kAnother = 12345;

class TrustedFileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "castscope-settings-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    file_ = folder_ / "kept" / "settings";
    fs::create_directory(folder_ / "kept");
    write(file_, "ours", 0644);
  }
  void TearDown() override { fs::remove_all(folder_); }
  static void write(const fs::path& file, const std::string& text, mode_t mode) {
    std::ofstream(file) << text;
    ASSERT_EQ(chmod(file.c_str(), mode), 0);
  }
  static std::string text(const fs::path& file) { return read_trusted_text(file, "the file").value_or("refused"); }
  static std::string why(const fs::path& file) {
    return std::string(read_trusted_text(file, "the file").status().message());
  }
  fs::path folder_, file_;
};

TEST_F(TrustedFileTest, IsReadWhereNobodyElseMayWrite) {
  EXPECT_EQ(text(file_), "ours");
  EXPECT_EQ(text(folder_ / "kept" / ".." / "kept" / "settings"), "ours");
  const fs::path before = fs::current_path();
  fs::current_path(folder_);
  EXPECT_EQ(text("kept/settings"), "ours");
  fs::current_path(before);
  EXPECT_THAT(why(folder_ / "kept" / "none"), HasSubstr("the file cannot be read: No such file"));
  EXPECT_THAT(why(file_ / "none"), HasSubstr("Not a directory"));
  EXPECT_THAT(why(folder_), HasSubstr("Is a directory"));
}

TEST_F(TrustedFileTest, NobodyElseMayWriteToIt) {
  for (const mode_t mode : {0664, 0646}) {
    chmod(file_.c_str(), mode);
    EXPECT_THAT(why(file_), HasSubstr("`chmod go-w " + file_.string() + "`")) << mode;
  }
}

TEST_F(TrustedFileTest, NobodyElseMayPutAnotherOneInItsPlace) {
  for (const fs::path& folder : {folder_ / "kept", folder_})  // it can be replaced together with its folder
    for (const mode_t mode : {0770, 02775, 0707}) {
      chmod(folder.c_str(), mode);
      EXPECT_THAT(why(file_), HasSubstr("`chmod go-w " + folder.string() + "`")) << mode;
      chmod(folder.c_str(), 01777);  // as /tmp: only its owner may remove a file
      EXPECT_EQ(text(file_), "ours");
      chmod(folder.c_str(), 0700);
    }
}

TEST_F(TrustedFileTest, NothingOnTheWayBelongsToAnotherUser) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  fs::create_symlink(file_, folder_ / "link");
  EXPECT_EQ(text(folder_ / "link"), "ours");
  ASSERT_EQ(lchown((folder_ / "link").c_str(), kAnother, 0), 0);
  EXPECT_THAT(why(folder_ / "link"), HasSubstr("link belongs to another user (12345)"));
  ASSERT_EQ(chown((folder_ / "kept").c_str(), kAnother, 0), 0);
  EXPECT_THAT(why(file_), HasSubstr("kept belongs to another user (12345)"));
  ASSERT_EQ(chown((folder_ / "kept").c_str(), 0, 0), 0);
  ASSERT_EQ(chown(file_.c_str(), kAnother, 0), 0);
  EXPECT_THAT(why(file_), HasSubstr("the file belongs to another user (12345), who could let himself in"));
}

TEST_F(TrustedFileTest, LinksOfASecretStoreAreFollowed) {
  // As Kubernetes mounts a secret whose group is fsGroup.
  const fs::path mounted = folder_ / "mounted";
  fs::create_directories(mounted / "..2026_11_30");
  write(mounted / "..2026_11_30" / "tokens.json", "secret", 0440);
  fs::create_directory_symlink("..2026_11_30", mounted / "..data");
  fs::create_symlink("..data/tokens.json", mounted / "tokens.json");
  chmod(mounted.c_str(), 03777);
  EXPECT_EQ(text(mounted / "tokens.json"), "secret");
  // Links to where others may write are no way around.
  fs::create_symlink(file_, folder_ / "absolute");
  EXPECT_EQ(text(folder_ / "absolute"), "ours");
  chmod((folder_ / "kept").c_str(), 0777);
  EXPECT_THAT(why(folder_ / "absolute"), HasSubstr("others may write to the folder"));
  fs::create_symlink("circle", folder_ / "circle");
  EXPECT_THAT(why(folder_ / "circle"), HasSubstr("Too many levels of symbolic links"));
}

TEST_F(TrustedFileTest, APipeIsNotWaitedFor) {
  const fs::path pipe = folder_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(why(pipe), HasSubstr("must be an ordinary file"));
  EXPECT_THAT(std::string(read_text(pipe, "the file").status().message()), HasSubstr("must be an ordinary file"));
}

// Its owner was asked for by name, after it had been read.
TEST_F(TrustedFileTest, WhatIsReadIsWhatWasLookedAt) {
  const fs::path other = folder_ / "kept" / "other";
  write(other, "theirs", 0666);
  std::atomic<bool> done = false;
  std::thread exchanging([&] {
    while (!done) renameat2(AT_FDCWD, file_.c_str(), AT_FDCWD, other.c_str(), RENAME_EXCHANGE);
  });
  int ours = 0, theirs = 0;
  for (int i = 0; i < 5000; ++i) {
    const std::string read = text(file_);
    ours += read == "ours" ? 1 : 0;
    theirs += read == "theirs" ? 1 : 0;
  }
  done = true;
  exchanging.join();
  EXPECT_EQ(theirs, 0);
  EXPECT_GT(ours, 0);
}

}  // namespace
}  // namespace castscope::config
