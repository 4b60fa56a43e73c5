#include "server/files/plain_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace castscope::files {
namespace {

namespace fs = std::filesystem;

class PlainFileTest : public testing::Test {
 protected:
  PlainFileTest() { fs::create_directories(folder_); }
  ~PlainFileTest() override { fs::remove_all(folder_); }
  std::string at(const std::string& name) const { return (folder_ / name).string(); }

  const fs::path folder_ = fs::path(testing::TempDir()) / ("plain-file-" + std::to_string(getpid()));
};

TEST_F(PlainFileTest, ReadsAnOrdinaryFileAndOneOfProc) {
  const std::string text(200'000, 'x');
  std::ofstream(at("file")) << text;
  EXPECT_EQ(read_plain(at("file")).value(), text);
  EXPECT_NE(read_plain("/proc/self/status").value().find("Name:"), std::string::npos);
  EXPECT_EQ(text_or_nothing(at("none")), "");
}

// Whoever opened the pipe in the usual way would wait for a writer here, for ever.
TEST_F(PlainFileTest, WaitsForNobody) {
  ASSERT_EQ(mkfifo(at("pipe").c_str(), 0600), 0);
  EXPECT_EQ(read_plain(at("pipe")).status().message(), "it is not an ordinary file");
  EXPECT_EQ(read_plain("/dev/zero").status().message(), "it is not an ordinary file");
  EXPECT_EQ(read_plain(folder_.string()).status().message(), "it is not an ordinary file");
  EXPECT_EQ(text_or_nothing(at("pipe")), "");
}

TEST_F(PlainFileTest, ReadsNoMoreThanWasWished) {
  std::ofstream(at("file")) << "four";
  EXPECT_EQ(read_plain(at("file"), 4).value(), "four");
  EXPECT_EQ(PlainFile::open(at("file"))->begin(3).value(), "fou");
  EXPECT_EQ(PlainFile::open(at("file"))->begin(9).value(), "four");
  EXPECT_TRUE(absl::IsOutOfRange(read_plain(at("file"), 3).status()));
}

}  // namespace
}  // namespace castscope::files
