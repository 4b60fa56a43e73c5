#include "server/cli/serving/collector_lock.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "server/store/testing/run_folder.h"

namespace castscope::cli {
namespace {

using testing::HasSubstr;

TEST(CollectorLockTest, ASecondCollectorIsKeptAwayUntilTheFirstHasGone) {
  const store::RunFolder folder;
  auto first = CollectorLock::take(folder / "");
  ASSERT_TRUE(first.ok()) << first.status();
  const absl::Status second = CollectorLock::take(folder / "").status();
  EXPECT_TRUE(absl::IsAlreadyExists(second));
  EXPECT_THAT(std::string(second.message()),
              HasSubstr(absl::StrCat("another collector's already (process ", getpid())));
  first->reset();
  EXPECT_TRUE(CollectorLock::take(folder / "").ok());
}

TEST(CollectorLockTest, WhoeverRemovesTheFileLetsNoSecondCollectorIn) {
  const store::RunFolder folder;
  auto first = CollectorLock::take(folder / "");
  ASSERT_TRUE(first.ok()) << first.status();
  ASSERT_TRUE(std::filesystem::remove(folder / ".castscope-serve.lock"));
  const absl::Status second = CollectorLock::take(folder / "").status();
  EXPECT_TRUE(absl::IsAlreadyExists(second)) << second;
  EXPECT_THAT(std::string(second.message()), HasSubstr(".castscope-serve.lock somebody has removed"));
  first->reset();
  EXPECT_TRUE(CollectorLock::take(folder / "").ok());
}

// An older collector looks at the file alone.
TEST(CollectorLockTest, ARemovedFileIsMadeAndLockedAgain) {
  const store::RunFolder folder;
  auto lock = CollectorLock::take(folder / "");
  ASSERT_TRUE(lock.ok()) << lock.status();
  const std::string path = folder / ".castscope-serve.lock";
  ASSERT_TRUE(std::filesystem::remove(path));
  ASSERT_TRUE((*lock)->restore_file().ok());
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(file, 0);
  EXPECT_NE(flock(file, LOCK_EX | LOCK_NB), 0);
  close(file);
  EXPECT_THAT(std::string(CollectorLock::take(folder / "").status().message()),
              HasSubstr(absl::StrCat("(process ", getpid())));
}

TEST(CollectorLockTest, AFolderThatIsGoneOrAnotherOneIsSaid) {
  const store::RunFolder folder;
  const std::filesystem::path runs = folder / "runs";
  std::filesystem::create_directory(runs);
  auto lock = CollectorLock::take(runs);
  ASSERT_TRUE(lock.ok()) << lock.status();
  EXPECT_EQ((*lock)->folder_trouble(), "");
  std::filesystem::rename(runs, folder / "moved");
  EXPECT_THAT((*lock)->folder_trouble(), HasSubstr("is gone"));
  std::filesystem::create_directory(runs);
  EXPECT_THAT((*lock)->folder_trouble(), HasSubstr("another folder is in the place"));
  EXPECT_TRUE(CollectorLock::take(runs).ok());
}

TEST(CollectorLockTest, AFolderThatCannotBeWrittenIsSaid) {
  EXPECT_THAT(std::string(CollectorLock::take("/nowhere").status().message()), HasSubstr("cannot be written"));
}

}  // namespace
}  // namespace castscope::cli
