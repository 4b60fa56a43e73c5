#include "server/admission/tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "server/admission/digest.h"
#include "server/admission/random_token.h"

namespace castscope::admission {
namespace {

using testing::HasSubstr;

std::string entry(const std::string& rest, const std::string& token = "secret") {
  return absl::StrCat("{\"name\": \"training\", \"sha256\": \"", digest_of(token), "\", ", rest, "}");
}

absl::StatusOr<Tokens> parse(const std::string& entries) {
  return Tokens::parse(absl::StrCat("{\"tokens\": [\n", entries, "]}"), "tokens.json");
}

std::string complaint(const std::string& entries) { return std::string(parse(entries).status().message()); }

TEST(TokensTest, AreFoundByTheirDigest) {
  const auto tokens = parse(absl::StrCat("// two of them\n", entry("\"may\": [\"send\", \"see\"]"), ",\n",
                                         entry("\"may\": [\"administer\"]", "other")));
  ASSERT_TRUE(tokens.ok()) << tokens.status();
  const Token* const token = tokens->find(digest_of("secret"));
  ASSERT_NE(token, nullptr);
  EXPECT_EQ(token->name, "training");
  EXPECT_TRUE(token->allows(Role::kSend) && token->allows(Role::kSee));
  EXPECT_FALSE(token->allows(Role::kAdminister));
  const Token* const other = tokens->find(digest_of("other"));
  ASSERT_NE(other, nullptr);
  EXPECT_TRUE(other->allows(Role::kSend) && other->allows(Role::kSee) && other->allows(Role::kAdminister));
  EXPECT_EQ(tokens->find(digest_of("Secret")), nullptr);
  EXPECT_EQ(tokens->find(""), nullptr);
}

TEST(TokensTest, HaveQuotasOfTheirOwn) {
  const auto tokens =
      parse(entry("\"may\": [\"send\"], \"quotas\": {\"events_per_second\": 5, \"bytes_per_run\": \"2 GB\"}"));
  ASSERT_TRUE(tokens.ok()) << tokens.status();
  const Quotas expected{.events_per_second = 5, .bytes_per_run = 2'000'000'000, .open_runs = 0};
  EXPECT_EQ(tokens->find(digest_of("secret"))->quotas, expected);
}

TEST(TokensTest, WhatIsWrongIsToldWithItsPlace) {
  EXPECT_THAT(complaint(entry("\"may\": [\"sent\"]")), HasSubstr("tokens.json:2:"));
  EXPECT_THAT(complaint(entry("\"may\": [\"sent\"]")), HasSubstr("did you mean \"send\"?"));
  EXPECT_THAT(complaint(entry("\"may\": []")), HasSubstr("list of texts, and not an empty one"));
  EXPECT_THAT(complaint("{\"name\": \"a\", \"may\": [\"see\"]}"), HasSubstr("needs its \"sha256\""));
  EXPECT_THAT(complaint("{\"name\": \"a\", \"sha256\": \"secret\", \"may\": [\"see\"]}"),
              HasSubstr("64 hexadecimal digits: `castscope token`"));
  EXPECT_THAT(complaint(entry("\"may\": [\"see\"], \"untill\": \"2027-01-31\"")), HasSubstr("did you mean \"until\"?"));
  EXPECT_THAT(complaint(entry("\"may\": [\"see\"], \"until\": \"2027-02-30\"")),
              HasSubstr("the last day of the token"));
  EXPECT_THAT(complaint(entry("\"may\": [\"see\"], \"quotas\": {\"open_runs\": 0}")),
              HasSubstr("a whole number, 1 or more"));
  EXPECT_THAT(complaint("7"), HasSubstr("tokens.json:2:1: this must be an object"));
  EXPECT_THAT(complaint(absl::StrCat(entry("\"may\": [\"see\"]"), ",", entry("\"may\": [\"send\"]"))),
              HasSubstr("in the file already"));
  EXPECT_THAT(complaint(""), HasSubstr("at least one in it"));
  EXPECT_THAT(std::string(Tokens::parse("[]", "tokens.json").status().message()), HasSubstr("this must be an object"));
}

TEST(TokensTest, AFileThatOthersMayWriteToIsRefused) {
  std::string pattern = (std::filesystem::temp_directory_path() / "castscope-tokens-XXXXXX").string();
  const std::filesystem::path folder = mkdtemp(pattern.data());
  const std::string file = folder / "tokens.json";
  EXPECT_THAT(std::string(Tokens::read(file).status().message()), HasSubstr("cannot be read: No such file"));
  std::ofstream(file) << absl::StrCat("{\"tokens\": [", entry("\"may\": [\"see\"]"), "]}");
  chmod(file.c_str(), 0644);
  EXPECT_TRUE(Tokens::read(file).ok());
  chmod(file.c_str(), 0664);
  EXPECT_THAT(std::string(Tokens::read(file).status().message()), HasSubstr("`chmod go-w "));
  chmod(file.c_str(), 0600);
  chmod(folder.c_str(), 0777);
  EXPECT_THAT(std::string(Tokens::read(file).status().message()),
              HasSubstr("could put another file in the place of the file of tokens: `chmod go-w "));
  chmod(folder.c_str(), 0700);
  if (geteuid() == 0) {
    ASSERT_EQ(chown(file.c_str(), 12345, 0), 0);
    EXPECT_THAT(std::string(Tokens::read(file).status().message()), HasSubstr("belongs to another user (12345)"));
  }
  std::filesystem::remove_all(folder);
}

TEST(TokensTest, ADayEndsInUtc) {
  EXPECT_EQ(end_of_day("1970-01-01"), 86'400);
  EXPECT_EQ(end_of_day("2027-01-31"), 1'801'440'000);
  for (const char* none : {"", "2027-13-01", "2027-1-1", "2027-00-10", "2027-01-00", "tomorrow", "2027-01-31 "})
    EXPECT_EQ(end_of_day(none), std::nullopt) << none;
}

TEST(TokensTest, ANewOneHas128BitsAndIsNeverTheSame) {
  const std::string token = new_token().value();
  EXPECT_EQ(token.size(), 22u);  // 6 bits a character
  EXPECT_EQ(token.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"),
            std::string::npos);
  EXPECT_NE(token, new_token().value());
}

}  // namespace
}  // namespace castscope::admission
