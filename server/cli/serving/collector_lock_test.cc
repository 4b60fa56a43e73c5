#include "server/cli/serving/collector_lock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

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

TEST(CollectorLockTest, AFolderThatCannotBeWrittenIsSaid) {
  EXPECT_THAT(std::string(CollectorLock::take("/nowhere").status().message()), HasSubstr("cannot be written"));
}

}  // namespace
}  // namespace castscope::cli
