#include "server/exported/program/zip_archive.h"

#include <gmock/gmock.h>

#include "server/exported/testing/test_program.h"

namespace castscope::exported {
namespace {

using ::testing::HasSubstr;

std::string error_of(const std::string& file, const std::string& entry, std::uint64_t most = 1 << 20) {
  const auto zip = ZipArchive::open(file);
  if (!zip.ok()) return std::string(zip.status().message());
  return std::string(zip->read(entry, most).status().message());
}

// Whatever the bytes are, reading gives an error or the contents that were packed.
void expect_no_harm(const std::string& file) {
  const auto zip = ZipArchive::open(file);
  if (!zip.ok()) return;
  for (const ZipArchive::Entry& entry : zip->entries()) {
    const auto text = zip->read(entry.name, 1 << 20);
    if (text.ok()) EXPECT_LE(text->size(), 1u << 20);
  }
}

TEST(ZipArchiveTest, HasWhatWasPacked) {
  const TestFolder folder;
  for (const int level : {0, 9}) {
    const std::string file = folder.zip("a.zip", {{"a/one", "first"}, {"a/two", std::string(100'000, 'x')}}, level);
    EXPECT_TRUE(is_zip(file));
    const auto zip = ZipArchive::open(file);
    ASSERT_TRUE(zip.ok()) << zip.status();
    ASSERT_EQ(zip->entries().size(), 2u);
    EXPECT_EQ(zip->entries()[1].size, 100'000u);
    EXPECT_EQ(*zip->read("a/two", 1 << 20), std::string(100'000, 'x'));
    EXPECT_EQ(*zip->read("a/one", 1 << 20), "first");
    EXPECT_THAT(std::string(zip->read("a/three", 9).status().message()), HasSubstr("it has no a/three"));
  }
}

TEST(ZipArchiveTest, AnEmptyOneHasNothing) {
  const TestFolder folder;
  const auto zip = ZipArchive::open(folder.zip("empty.zip", {}));
  ASSERT_TRUE(zip.ok()) << zip.status();
  EXPECT_TRUE(zip->entries().empty());
}

TEST(ZipArchiveTest, WhatIsNoneIsTold) {
  const TestFolder folder;
  EXPECT_FALSE(is_zip(folder.file("text", "PK is how it begins")));
  EXPECT_FALSE(is_zip(folder.file("short", "PK")));
  EXPECT_FALSE(is_zip("/nowhere/model.pt2"));
  EXPECT_FALSE(is_zip("/dev/null"));
  EXPECT_THAT(error_of(folder.file("begin", std::string("PK\x03\x04", 4)), "a"), HasSubstr("cut short or damaged"));
  EXPECT_THAT(error_of("/nowhere/model.pt2", "a"), HasSubstr("cut short or damaged"));
}

TEST(ZipArchiveTest, WhatUnpacksToTooMuchIsRefused) {
  const TestFolder folder;
  const std::string bomb = folder.zip("bomb.zip", {{"a", std::string(50 << 20, '\0')}}, 9);
  EXPECT_LT(std::filesystem::file_size(bomb), 100'000u);
  EXPECT_THAT(error_of(bomb, "a"),
              HasSubstr("a in it unpacks to 52428800 bytes or more, and at most 1048576 are read"));
  // The same bomb, with a false size in both places where an archive gives it.
  std::string bytes = TestFolder::bytes_of(bomb);
  const std::string truth("\0\0\x20\x03", 4), lie("\x10\0\0\0", 4);
  for (std::size_t at = bytes.find(truth); at != bytes.npos; at = bytes.find(truth, at + 4)) bytes.replace(at, 4, lie);
  EXPECT_THAT(error_of(folder.file("lie.zip", bytes), "a"), HasSubstr("damaged"));
}

TEST(ZipArchiveTest, WhatIsNotWhatWasPackedIsTold) {
  const TestFolder folder;
  std::string bytes = TestFolder::bytes_of(folder.zip("a.zip", {{"a", "what was packed"}}));
  bytes[bytes.find("what was packed")] = 'W';
  EXPECT_THAT(error_of(folder.file("b.zip", bytes), "a"), HasSubstr("a is not what was packed"));
}

TEST(ZipArchiveTest, NoCutAndNoByteDoesHarm) {
  const TestFolder folder;
  const std::string bytes =
      TestFolder::bytes_of(folder.zip("a.zip", {{"m/a", std::string(300, 'x')}, {"m/b", "{\"a\": [1, 2]}"}}, 9));
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    // The cut may fall into the archive's last record alone, whose last bytes say that no comment follows.
    const std::string file = folder.file("cut.zip", bytes.substr(0, size));
    expect_no_harm(file);
    if (size + 22 < bytes.size()) EXPECT_FALSE(ZipArchive::open(file).ok()) << size;
  }
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (const char wrong : {'\0', '\x7f', '\xff'}) {
      std::string other = bytes;
      other[at] = wrong;
      expect_no_harm(folder.file("other.zip", other));
    }
  }
}

}  // namespace
}  // namespace castscope::exported
