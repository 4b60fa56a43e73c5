#include "server/cli/job/known_of_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

namespace castscope::cli {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class KnownOfRunTest : public testing::Test {
 protected:
  void TearDown() override { fs::remove_all(directory_.path()); }
  std::string path(const std::string& file) const { return directory_.path() + "/" + file; }
  void write(const std::string& file, const std::string& text) const { std::ofstream(path(file)) << text; }

  const RunDirectory directory_ = *RunDirectory::create();
};

TEST_F(KnownOfRunTest, NothingIsKnownOfARunWithoutARecorder) {
  EXPECT_FALSE(kept_end(directory_).has_value());
  EXPECT_THAT(kept_missing(directory_), IsEmpty());
}

TEST_F(KnownOfRunTest, TheLastOfWhatWasKeptIsKnown) {
  ASSERT_TRUE(keep_end(directory_, {.exit_status = 3}).ok());
  ASSERT_TRUE(keep_end(directory_, {.exit_status = -1, .signal = 9}).ok());
  EXPECT_EQ(kept_end(directory_)->exit_status, -1);
  EXPECT_EQ(kept_end(directory_)->signal, 9);
  ASSERT_TRUE(keep_missing(directory_, {"one"}).ok());
  ASSERT_TRUE(keep_missing(directory_, {"two\nlines", "a byte \xff that is no UTF-8"}).ok());
  EXPECT_THAT(kept_missing(directory_), ElementsAre("two\nlines", "a byte \xEF\xBF\xBD that is no UTF-8"));
  EXPECT_FALSE(fs::exists(path("missing.json.new")));
}

TEST_F(KnownOfRunTest, OnlyTheUserMayReadThem) {
  ASSERT_TRUE(keep_end(directory_, {.exit_status = 0}).ok());
  struct stat info;
  ASSERT_EQ(lstat(path("end.json").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST_F(KnownOfRunTest, WhatCannotBeUnderstoodIsNoEnd) {
  for (const char* text : {"", "{", "[]", "{\"exit_status\": 1}", "{\"exit_status\": \"x\", \"signal\": 0}"}) {
    write("end.json", text);
    EXPECT_FALSE(kept_end(directory_).has_value()) << text;
  }
}

TEST_F(KnownOfRunTest, WhatCannotBeUnderstoodIsMissing) {
  for (const char* text : {"", "[\"cut", "{}", "[1]"}) {
    write("missing.json", text);
    EXPECT_THAT(kept_missing(directory_), ElementsAre(HasSubstr("which cannot be read"))) << text;
  }
}

TEST_F(KnownOfRunTest, WhatFindsNoRoomLeavesWhatWasThere) {
  ASSERT_TRUE(keep_missing(directory_, {"one"}).ok());
  fs::create_directory(path("missing.json.new"));  // nothing can be written there
  EXPECT_THAT(std::string(keep_missing(directory_, {"two"}).message()), HasSubstr("missing.json cannot be written: "));
  EXPECT_THAT(kept_missing(directory_), ElementsAre("one"));
}

TEST_F(KnownOfRunTest, TheFilesAreCastscopesOwn) {
  ASSERT_TRUE(keep_end(directory_, {.exit_status = 0}).ok());
  ASSERT_TRUE(keep_missing(directory_, {"one"}).ok());
  write("end.json.new", "");
  write("missing.json.new", "");
  EXPECT_TRUE(directory_.discard());
}

}  // namespace
}  // namespace castscope::cli
