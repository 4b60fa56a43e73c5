#include "server/cli/toolkit/library_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace castscope::cli {
namespace {

namespace fs = std::filesystem;

class LibraryFile : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("library-file-" + std::to_string(getpid()));
    fs::create_directories(folder_);
    path_ = (folder_ / "agent.so").string();
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string content() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write(const std::string& text) const { std::ofstream(path_, std::ios::binary | std::ios::trunc) << text; }
  fs::path folder_;
  std::string path_;
};

TEST_F(LibraryFile, ASealFitsItsContentOnly) {
  for (const std::string& text : {std::string("x"), std::string(8, 'y'), std::string(100'003, 'z')}) {
    write(text);
    EXPECT_FALSE(is_sealed(path_));
    ASSERT_TRUE(seal(path_).ok());
    EXPECT_TRUE(is_sealed(path_));
    const std::string sealed = content();
    EXPECT_EQ(sealed.substr(0, text.size()), text);

    std::string changed = sealed;
    changed[text.size() / 2] ^= 1;
    write(changed);
    EXPECT_FALSE(is_sealed(path_));
    for (const std::size_t size : {std::size_t{0}, text.size(), sealed.size() / 2, sealed.size() - 1}) {
      write(sealed.substr(0, size));
      EXPECT_FALSE(is_sealed(path_)) << size;
    }
    write(sealed + "more");
    EXPECT_FALSE(is_sealed(path_));
  }
}

TEST_F(LibraryFile, IsWrittenWholeOrNotAtAll) {
  ASSERT_TRUE(write_library(path_, "one").ok());
  EXPECT_EQ(content(), "one");
  struct stat before, after;
  ASSERT_EQ(stat(path_.c_str(), &before), 0);
  ASSERT_TRUE(write_library(path_, "one").ok());
  ASSERT_EQ(stat(path_.c_str(), &after), 0);
  EXPECT_EQ(before.st_ino, after.st_ino);  // it was there, and stays
  ASSERT_TRUE(write_library(path_, "two").ok());
  EXPECT_EQ(content(), "two");
  fs::create_directory(folder_ / "taken");
  EXPECT_FALSE(write_library((folder_ / "taken").string(), "three").ok());
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 2);  // nothing half-written is left
}

TEST_F(LibraryFile, IsNotThereWithoutItsFolder) {
  const auto status = write_library((folder_ / "none/agent.so").string(), "x");
  EXPECT_NE(std::string(status.message()).find("No such file"), std::string::npos) << status.message();
}

}  // namespace
}  // namespace castscope::cli
