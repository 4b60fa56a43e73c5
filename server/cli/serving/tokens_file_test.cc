#include "server/cli/serving/tokens_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <new>

#include "absl/strings/str_cat.h"
#include "server/admission/digest.h"
#include "server/admission/door.h"
#include "server/store/testing/run_folder.h"

namespace castscope::cli {
namespace {

using admission::Role;

class TokensFileTest : public testing::Test {
 protected:
  // As editors and secret stores replace files: under another name, then renamed.
  void write(const std::string& text) {
    const std::string file = folder_ / "tokens.json", other = folder_ / "new";
    std::ofstream(other) << text;
    std::filesystem::rename(other, file);
  }
  static std::string text_of(const std::string& token) {
    return absl::StrCat("{\"tokens\": [{\"name\": \"a\", \"sha256\": \"", admission::digest_of(token),
                        "\", \"may\": [\"send\"]}]}");
  }
  void write_token(const std::string& token) { write(text_of(token)); }
  static void look_again(TokensFile& file, admission::Door& door) {
    file.look_again([&door](const admission::Tokens& tokens) { door.change(tokens); });
  }
  static bool admits(admission::Door& door, const std::string& token) {
    return door.admit("Bearer " + token, Role::kSend, "peer", [] { return true; }).ok();
  }
  ServeConfig config() const {
    ServeConfig config;
    config.tokens = folder_ / "tokens.json";
    return config;
  }
  store::RunFolder folder_;
};

TEST_F(TokensFileTest, IsReadAgainWhenItWasChanged) {
  write_token("first");
  TokensFile file(config());
  admission::Door door(file.read().value(), nullptr);
  EXPECT_TRUE(admits(door, "first"));
  write_token("second");
  EXPECT_FALSE(admits(door, "second"));
  look_again(file, door);
  EXPECT_TRUE(admits(door, "second"));
  EXPECT_FALSE(admits(door, "first"));
}

TEST_F(TokensFileTest, WhatIsWrongChangesNothing) {
  write_token("first");
  TokensFile file(config());
  admission::Door door(file.read().value(), nullptr);
  for (const char* wrong : {"{\"tokens\": []}", "{", ""}) {
    write(wrong);
    look_again(file, door);
    EXPECT_TRUE(admits(door, "first")) << wrong;
  }
  std::filesystem::remove(folder_ / "tokens.json");
  look_again(file, door);
  EXPECT_TRUE(admits(door, "first"));
}

// Within one tick of the clock, and of the same size, all that stat() tells may stay.
TEST_F(TokensFileTest, IsReadAgainWhateverItsTimeSays) {
  const std::string path = folder_ / "tokens.json";
  write_token("first");
  TokensFile file(config());
  admission::Door door(file.read().value(), nullptr);
  const auto time = std::filesystem::last_write_time(path);
  std::ofstream(path) << text_of("other");
  std::filesystem::last_write_time(path, time);
  look_again(file, door);
  EXPECT_TRUE(admits(door, "other"));
}

// Such as when no descriptor is left for a moment: the file is the same before and after.
TEST_F(TokensFileTest, IsReadWhenWhatWasInTheWayHasPassed) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP()
      << "UBSan asks by a pipe whether an object's memory can be read, and takes a pipe that cannot be made for no";
#endif
  write_token("first");
  TokensFile file(config());
  admission::Door door(file.read().value(), nullptr);
  write_token("second");
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  rlimit none = before;
  none.rlim_cur = 0;
  setrlimit(RLIMIT_NOFILE, &none);
  look_again(file, door);
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_FALSE(admits(door, "second"));
  look_again(file, door);
  EXPECT_TRUE(admits(door, "second"));
}

TEST_F(TokensFileTest, WhatThereWasNoMemoryForIsDoneAtTheNextLook) {
  write_token("first");
  TokensFile file(config());
  admission::Door door(file.read().value(), nullptr);
  write_token("second");
  EXPECT_THROW(file.look_again([](const admission::Tokens&) { throw std::bad_alloc(); }), std::bad_alloc);
  look_again(file, door);
  EXPECT_TRUE(admits(door, "second"));
}

TEST_F(TokensFileTest, TheOneTokenMaySend) {
  ServeConfig config;
  config.token = "secret";
  admission::Door door(TokensFile(config).read().value(), nullptr);
  EXPECT_TRUE(admits(door, "secret"));
  EXPECT_FALSE(door.admit("Bearer secret", Role::kSee, "peer", [] { return true; }).ok());
}

}  // namespace
}  // namespace castscope::cli
