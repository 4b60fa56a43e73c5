#include "server/cli/toolkit/elf.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "server/cli/toolkit/child.h"

namespace castscope::cli {
namespace {

namespace fs = std::filesystem;

class Elf : public ::testing::Test {
 protected:
  std::string file(const std::string& content) {
    path_ = (fs::temp_directory_path() / ("elf-test-" + std::to_string(getpid()))).string();
    std::ofstream(path_, std::ios::binary) << content;
    return path_;
  }
  void TearDown() override { fs::remove(path_); }
  std::string path_;
};

std::string whole(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
}

TEST_F(Elf, KeyIsTheBuildId) {
  std::string libc = "/lib/x86_64-linux-gnu/libc.so.6";
  auto notes = run_child({"readelf", "-n", libc});
  ASSERT_TRUE(notes.ok());
  auto key = library_key(libc);
  ASSERT_TRUE(key.ok());
  EXPECT_EQ(key->size(), 40u);
  EXPECT_NE(notes->out.find("Build ID: " + *key), std::string::npos);
}
TEST_F(Elf, WithoutABuildIdSizeAndTimeStandIn) {
  auto key = library_key(file("no ELF at all"));
  ASSERT_TRUE(key.ok());
  EXPECT_EQ(key->substr(0, 3), "13-");
}
TEST_F(Elf, TruncatedFilesAreHarmless) {
  std::string libc = whole("/lib/x86_64-linux-gnu/libc.so.6");
  for (std::size_t size : {0, 3, 16, 63, 64, 65, 100, 500, 800, 900}) {
    EXPECT_TRUE(library_key(file(libc.substr(0, size))).ok()) << size;
  }
}
TEST_F(Elf, MissingFileIsASentence) {
  EXPECT_NE(library_key("/nowhere.so").status().message().find("/nowhere.so cannot be read"), std::string::npos);
}
TEST_F(Elf, FindsText) {
  EXPECT_TRUE(*file_contains(file("abcdef"), "cde"));
  EXPECT_FALSE(*file_contains(file("abcdef"), "xyz"));
  EXPECT_FALSE(*file_contains(file(""), "xyz"));
}

}  // namespace
}  // namespace castscope::cli
