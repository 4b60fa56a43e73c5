#include "server/cli/serving/tokens_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "server/admission/digest.h"
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
  void write_token(const std::string& token) {
    write(absl::StrCat("{\"tokens\": [{\"name\": \"a\", \"sha256\": \"", admission::digest_of(token),
                       "\", \"may\": [\"send\"]}]}"));
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
  file.look_again(door);
  EXPECT_TRUE(admits(door, "second"));
  EXPECT_FALSE(admits(door, "first"));
}

TEST_F(TokensFileTest, WhatIsWrongChangesNothing) {
  write_token("first");
  TokensFile file(config());
  admission::Door door(file.read().value(), nullptr);
  for (const char* wrong : {"{\"tokens\": []}", "{", ""}) {
    write(wrong);
    file.look_again(door);
    EXPECT_TRUE(admits(door, "first")) << wrong;
  }
  std::filesystem::remove(folder_ / "tokens.json");
  file.look_again(door);
  EXPECT_TRUE(admits(door, "first"));
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
