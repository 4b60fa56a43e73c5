#include "server/rules/castscope_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "server/rules/rules.h"
#include "server/rules/suggest.h"

namespace castscope::rules {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string error_of(const std::string& text) {
  const auto settings = parse_settings(text, "castscope.json");
  EXPECT_FALSE(settings.ok()) << text;
  return settings.ok() ? "" : std::string(settings.status().message());
}

TEST(CastscopeJsonTest, AllKeys) {
  const auto settings = parse_settings(R"({
  // what we do not want to hear of
  "$schema": "docs/castscope.schema.json",
  "select": ["cache-*", "weight-cast-repeatedly"],
  "ignore": ["cache-never-cleared"],
  "severity": {"cache-grows": "error"},
  "thresholds": {"cache-grows": {"entries": 32.5}},
  /* nor of these */
  "per-path-ignores": {"tests/*": ["*"], "old.py": ["cache-grows"]}
})",
                                       "/repo/castscope.json");
  ASSERT_TRUE(settings.ok()) << settings.status().message();
  EXPECT_EQ(settings->file, "/repo/castscope.json");
  EXPECT_THAT(settings->select, ElementsAre("cache-*", "weight-cast-repeatedly"));
  EXPECT_TRUE(settings->ignores("cache-never-cleared"));
  EXPECT_FALSE(settings->ignores("cache-grows"));
  EXPECT_EQ(settings->severity.at("cache-grows"), "error");
  EXPECT_EQ(settings->thresholds.at("cache-grows").at("entries"), 32.5);
  EXPECT_TRUE(settings->ignores_in("weight-cast-repeatedly", "/run/tests/a.py", "/run"));
}

TEST(CastscopeJsonTest, WhatIsSetCounts) {
  const auto settings = parse_settings(
      R"({"severity": {"cache-grows": "info"}, "thresholds": {"cache-grows": {"entries": 3}}})", "castscope.json");
  ASSERT_TRUE(settings.ok());
  const store::RunData data;
  Inquiry inquiry(*find_rule("cache-grows"), data, *settings);
  EXPECT_EQ(inquiry.threshold("entries"), 3);
  EXPECT_EQ(inquiry.add({}).severity, "info");
}

TEST(CastscopeJsonTest, NumbersThatNoDoubleHolds) {
  EXPECT_THAT(error_of("{\n \"thresholds\": {\"cache-grows\": {\"entries\": 1e400}}}"),
              HasSubstr("this number is too large"));
  EXPECT_THAT(error_of("{\"x\": -1e999}"), HasSubstr("this number is too large"));
}

TEST(CastscopeJsonTest, NestedWithoutEnd) {
  EXPECT_THAT(error_of(std::string(200'000, '[')), HasSubstr("JSON"));
  EXPECT_THAT(error_of("{\"ignore\": " + std::string(100'000, '[') + std::string(100'000, ']') + "}"),
              HasSubstr("nested too deep"));
}

TEST(CastscopeJsonTest, ACommaTooMany) {
  EXPECT_EQ(error_of("{\"ignore\": [\"cache-*\", ]}"),
            "castscope.json:1:24: this is not JSON: there is a comma too many before this");
  EXPECT_THAT(error_of("{\"ignore\": [],\n}"), StartsWith("castscope.json:2:1: this is not JSON: there is a comma"));
}

TEST(CastscopeJsonTest, ErrorsSayWhereAndWhatWasMeant) {
  EXPECT_EQ(
      error_of("{\n  \"ignore\": [\"cache-*\",\n    \"cache-grow\"]\n}"),
      "castscope.json:3:5: there is no rule \"cache-grow\"; did you mean \"cache-grows\"? (`castscope rules` lists "
      "them)");
  EXPECT_THAT(error_of("{\n  \"ignores\": []}"),
              StartsWith("castscope.json:2:3: there is no setting \"ignores\"; did you mean \"ignore\"?"));
  EXPECT_THAT(
      error_of("{\"thresholds\": {\"cache-grows\": {\"entry\": 3}}}"),
      StartsWith("castscope.json:1:33: cache-grows has no threshold \"entry\"; did you mean \"entries\"? (it has "
                 "entries"));
  EXPECT_THAT(error_of("{\"severity\": {\"cache-grows\": \"eror\"}}"),
              StartsWith("castscope.json:1:15: eror is not a severity; did you mean \"error\"?"));
  EXPECT_THAT(error_of("{\"per-path-ignores\": {\"é/*\": [7]}}"), StartsWith("castscope.json:1:31: a rule's name"));
  EXPECT_THAT(error_of("{\"select\": [\"x-*\"]}"), StartsWith("castscope.json:1:13: no rule's name begins like"));
}

TEST(CastscopeJsonTest, WrongKindsAreNamed) {
  EXPECT_THAT(error_of("[]"), StartsWith("castscope.json:1:1: castscope.json must hold one object"));
  EXPECT_THAT(error_of("{\"ignore\": \"cache-grows\"}"), HasSubstr(":1:2: this must be a list of rules"));
  EXPECT_THAT(error_of("{\"severity\": []}"), HasSubstr("object of rules and severities"));
  EXPECT_THAT(error_of("{\"severity\": {\"cache-grows\": 3}}"), HasSubstr("3 is not a severity"));
  EXPECT_THAT(error_of("{\"thresholds\": {\"cache-grows\": 3}}"), HasSubstr("a rule's thresholds must be an object"));
  EXPECT_THAT(error_of("{\"thresholds\": {\"cache-grows\": {\"entries\": -1}}}"), HasSubstr("0 or more"));
  EXPECT_THAT(error_of("{\"thresholds\": {\"cache-grows\": {\"entries\": \"3\"}}}"), HasSubstr("0 or more"));
  EXPECT_THAT(error_of("{\"per-path-ignores\": {\"\": []}}"), HasSubstr("a path is missing"));
}

TEST(CastscopeJsonTest, WhatIsNoJsonIsSaidWithItsPlace) {
  EXPECT_THAT(error_of("{\n  \"select\": [,]\n}"), StartsWith("castscope.json:2:14: this is not JSON: "));
  EXPECT_THAT(error_of(""), StartsWith("castscope.json:1:1: this is not JSON: "));
  EXPECT_THAT(error_of("{\"select\": []"), HasSubstr("this is not JSON"));
  EXPECT_EQ(error_of("{\"ignore\": [],\n \"ignore\": []}"),
            "castscope.json:2:2: this key stands here for the second time");
}

TEST(CastscopeJsonTest, AMarkOfTheByteOrderIsNoColumn) {
  EXPECT_TRUE(parse_settings("\xef\xbb\xbf{}", "castscope.json").ok());
  EXPECT_THAT(error_of("\xef\xbb\xbf{\"ignores\": []}"), StartsWith("castscope.json:1:2: there is no setting"));
  EXPECT_THAT(error_of("\xef\xbb\xbf{,"), StartsWith("castscope.json:1:2: this is not JSON: "));
}

TEST(CastscopeJsonTest, AZeroByteEndsNoSentence) {
  EXPECT_EQ(error_of(R"({"ignore": ["region\u0000-*"]})"),
            R"(castscope.json:1:13: no rule's name begins like "region\u0000-*")");
}

class SettingsFileTest : public ::testing::Test {
 protected:
  SettingsFileTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "castscope-settings-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    std::filesystem::create_directories(folder_ / "repo/src/deep");
  }
  ~SettingsFileTest() override { std::filesystem::remove_all(folder_); }
  std::string at(const std::string& path) const { return (folder_ / path).string(); }
  void write(const std::string& path, const std::string& text) const { std::ofstream(folder_ / path) << text; }
  // The file whose settings count; or the error.
  std::string found(const std::string& folder, const std::string& home) {
    passed_over_.clear();
    const auto settings = nearest_settings(folder, home, passed_over_);
    return settings.ok() ? settings->file : std::string(settings.status().message());
  }
  std::filesystem::path folder_;
  std::vector<std::string> passed_over_;
};

TEST_F(SettingsFileTest, IsTheNextOneAboveWithinTheRepository) {
  write("castscope.json", "{}");
  EXPECT_EQ(found(at("repo/src/deep"), "/nowhere"), at("castscope.json"));
  EXPECT_EQ(found(at("repo/src/deep"), at("repo")), "");  // not above the home folder
  std::filesystem::create_directory(folder_ / "repo/.git");
  EXPECT_EQ(found(at("repo/src/deep"), "/nowhere"), "");
  write("repo/castscope.json", "{}");
  EXPECT_EQ(found(at("repo/src/deep"), "/nowhere"), at("repo/castscope.json"));
  EXPECT_EQ(found(at("repo"), at("repo")), at("repo/castscope.json"));
}

// Whoever put it there believes that it has an effect.
TEST_F(SettingsFileTest, WhatHasTheNameAndCannotBeReadIsToldNotPassedOver) {
  write("repo/castscope.json", "{}");
  std::filesystem::create_directory(folder_ / "repo/src/castscope.json");
  EXPECT_THAT(found(at("repo/src"), "/nowhere"), HasSubstr("castscope.json: the settings must be an ordinary file"));
  std::filesystem::create_symlink("nowhere.json", folder_ / "repo/src/deep/castscope.json");
  EXPECT_THAT(found(at("repo/src/deep"), "/nowhere"),
              HasSubstr("castscope.json: the settings cannot be read: No such file"));
}

// In /tmp, anybody could decide what counts below it. Nor does a folder of a stranger's keep anybody from working
// there.
TEST_F(SettingsFileTest, ASettingsFileOfAStrangerIsPassedOver) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files to others";
  constexpr uid_t kStranger = 12345;
  write("castscope.json", "{}");
  write("repo/castscope.json", R"({"ignore": ["cache-grows"]})");
  ASSERT_EQ(chown(at("repo/castscope.json").c_str(), kStranger, 0), 0);
  EXPECT_EQ(found(at("repo/src"), "/nowhere"), at("castscope.json"));
  EXPECT_THAT(passed_over_, testing::ElementsAre(HasSubstr("repo/castscope.json belongs to another user (12345)")));
  ASSERT_EQ(chown(at("repo").c_str(), kStranger, 0), 0);  // a checkout of that user
  EXPECT_EQ(found(at("repo/src"), "/nowhere"), at("repo/castscope.json"));
  EXPECT_THAT(passed_over_, testing::IsEmpty());
  std::filesystem::create_directory(folder_ / "repo/src/castscope.json");
  ASSERT_EQ(chown(at("repo/src/castscope.json").c_str(), kStranger, 0), 0);
  EXPECT_EQ(found(at("repo/src"), "/nowhere"), at("repo/castscope.json"));
  EXPECT_EQ(passed_over_.size(), 1u);
}

// Whoever opened it in the usual way would wait for its writer.
TEST_F(SettingsFileTest, APipeIsRefused) {
  ASSERT_EQ(mkfifo(at("repo/castscope.json").c_str(), 0600), 0);
  EXPECT_THAT(found(at("repo"), "/nowhere"), HasSubstr("must be an ordinary file"));
}

TEST_F(SettingsFileTest, WhatCannotBeReadIsASentence) {
  EXPECT_THAT(std::string(read_settings(at("none.json")).status().message()), HasSubstr("No such file"));
  EXPECT_THAT(std::string(read_settings(at("repo")).status().message()), HasSubstr("an ordinary file"));
  write("good.json", R"({"ignore": ["cache-grows"]})");
  const auto settings = read_settings(at("good.json"));
  ASSERT_TRUE(settings.ok()) << settings.status().message();
  EXPECT_TRUE(settings->ignores("cache-grows"));
}

TEST(SuggestTest, IsNearOrNothing) {
  EXPECT_EQ(nearest_rule("cache-growz"), "cache-grows");
  EXPECT_EQ(nearest_rule("never-cleared"), "cache-never-cleared");
  EXPECT_EQ(nearest_rule("qqq"), std::nullopt);
  EXPECT_EQ(nearest_rule(""), std::nullopt);
}

}  // namespace
}  // namespace castscope::rules
