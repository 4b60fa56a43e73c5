#include "server/rules/judgement.h"

#include <gtest/gtest.h>

namespace castscope::rules {
namespace {

Finding finding(std::string rule, std::string file, std::int64_t line) {
  Finding one;
  one.rule = std::move(rule);
  one.location = store::CodeLocation{std::move(file), "train", line};
  return one;
}

TEST(SilencesTest, ACommentNamesRulesOrMeansAll) {
  EXPECT_TRUE(silences("y = f(x)  # castscope: ignore", "cache-grows"));
  EXPECT_TRUE(silences("y = f(x)  #castscope:ignore -- because it is wanted", "cache-grows"));
  EXPECT_TRUE(silences("y = f(x)  # castscope: ignore  # noqa", "cache-grows"));
  EXPECT_TRUE(silences("y = f(x)  # castscope: ignore[cache-grows] because it is wanted", "cache-grows"));
  EXPECT_TRUE(silences("y = f(x)  # noqa # castscope: ignore[other, cache-*]", "cache-grows"));
  EXPECT_TRUE(silences("y = '#'  # castscope: ignore [cache-grows]", "cache-grows"));
  EXPECT_FALSE(silences("y = f(x)  # castscope: ignore[cache]", "cache-grows"));
  EXPECT_FALSE(silences("y = f(x)  # castscope: ignore[]", "cache-grows"));
  EXPECT_FALSE(silences("y = f(x)  # castscope: ignore-file", "cache-grows"));
  EXPECT_FALSE(silences("y = f(x)  # castscope: ignored", "cache-grows"));
  EXPECT_FALSE(silences("castscope: ignore", "cache-grows"));
  EXPECT_FALSE(silences("", "cache-grows"));
}

TEST(SilencesTest, ACommentInAStringSilencesNothing) {
  EXPECT_FALSE(silences("y = f('# castscope: ignore')", "cache-grows"));
  EXPECT_FALSE(silences(R"(y = f("it's # castscope: ignore"))", "cache-grows"));
  EXPECT_FALSE(silences(R"(y = f("a\"# castscope: ignore"))", "cache-grows"));
  EXPECT_FALSE(silences(R"(y = f("""a" # castscope: ignore"""))", "cache-grows"));
  EXPECT_EQ(wrong_in_comment("y = f('# castscope: off')"), "");
  EXPECT_TRUE(silences(R"(y = f("#", '"', "") # castscope: ignore)", "cache-grows"));
  EXPECT_TRUE(silences("y = f(x)  # it's so: # castscope: ignore -- as \"agreed\"", "cache-grows"));
  EXPECT_TRUE(silences(R"(the end""")  # castscope: ignore)", "cache-grows"));  // the string began above
}

TEST(SilencesTest, ACommentThatSilencesNothingIsTold) {
  EXPECT_EQ(wrong_in_comment("y = f(x)  # castscope: ignore[cache-grows, dtype-*]  # castscope: ignore -- as agreed"),
            "");
  EXPECT_EQ(wrong_in_comment("y = f(x)  # like castscope, ignore"), "");
  EXPECT_EQ(wrong_in_comment("y = f(x)  # castscope: ignore[cache-grow]"),
            "the comment names no rule by \"cache-grow\"; did you mean \"cache-grows\"?");
}

constexpr char kHow[] =
    "\" silences nothing: write # castscope: ignore, or # castscope: ignore[RULE]; a reason goes after --";

// A comment that names one rule, in whatever form, is not meant to silence all others.
TEST(SilencesTest, WhatMayBeANameIsNotAll) {
  for (const std::string wrong : {"ignore: cache-grows",
                                  "ignore(cache-grows)",
                                  "ignored",
                                  "off",
                                  "ignore=cache-grows",
                                  "ignore cache-grows",
                                  "ignore, cache-grows",
                                  "ignore{cache-grows}",
                                  "ignore<cache-grows>",
                                  "ignore (cache-grows)",
                                  "ignore.region",
                                  "ignore;",
                                  "ignore because",
                                  "ignore -cache-grows",
                                  "ignore -- cache-grows",
                                  "ignore[]",
                                  "ignore[ , ]",
                                  "ignore]",
                                  "Ignore",
                                  "ignore_file",
                                  "ignore \xe2\x80\x94 why"}) {
    EXPECT_FALSE(silences("y = f(x)  # castscope: " + wrong, "cache-grows")) << wrong;
    EXPECT_FALSE(silences("y = f(x)  # castscope: " + wrong, "region-empty")) << wrong;
    EXPECT_EQ(wrong_in_comment("y = f(x)  # castscope: " + wrong), "the comment \"castscope: " + wrong + kHow);
  }
}

TEST(SilencesTest, WhatOnlyLooksLikeADirectiveIsTold) {
  for (const std::string near : {"castscope ignore[cache-grows]", "castscope ignore", "Castscope: ignore",
                                 "CASTSCOPE: IGNORE[cache-grows]", "castscope ignore: cache-grows"}) {
    EXPECT_FALSE(silences("y = f(x)  # " + near, "cache-grows")) << near;
    EXPECT_EQ(wrong_in_comment("y = f(x)  # " + near), "the comment \"" + near + kHow);
  }
  const std::string shared = "y = f(x)  # noqa: E501  castscope: ignore[cache-grows]";
  EXPECT_FALSE(silences(shared, "cache-grows"));
  EXPECT_EQ(wrong_in_comment(shared), std::string("the comment \"castscope: ignore[cache-grows]") + kHow);
  for (const char* prose : {"# castscope ignores it", "# what would castscope ignore here?", "# castscope:ignored"})
    EXPECT_EQ(wrong_in_comment(std::string("# it is so: ") + (prose + 2)), "") << prose;
}

TEST(JudgementTest, WhatIsSilencedIsCountedByWhoDidIt) {
  Settings settings;
  settings.ignore = {"dtype-*"};
  settings.per_path = {{"tests/*", {"cache-grows"}}};
  store::SourceLines source;
  source.add({"/job/train.py", store::SourceState::kKept, {{7, "f()  # castscope: ignore"}}});
  Finding placeless;
  placeless.rule = "cache-grows";
  const Judgement judgement =
      sort_out({finding("cache-grows", "/job/train.py", 7), finding("cache-grows", "/job/train.py", 8),
                finding("dtype-drift", "/job/train.py", 8), finding("cache-grows", "/job/tests/deep/test_a.py", 1),
                finding("cache-never-cleared", "/job/tests/deep/test_a.py", 1), placeless},
               settings, source, "/job");
  EXPECT_EQ(judgement.ignored_by_settings, 2u);
  EXPECT_EQ(judgement.ignored_in_code, 1u);
  EXPECT_EQ(judgement.silenced.size(), 3u);
  ASSERT_EQ(judgement.findings.size(), 3u);
  EXPECT_EQ(judgement.findings[0].location->line, 8);
  EXPECT_EQ(judgement.findings[1].rule, "cache-never-cleared");
  EXPECT_FALSE(judgement.findings[2].location);
}

TEST(SettingsTest, PathsAreSeenFromTheFileOfSettingsToo) {
  Settings settings;
  settings.file = "/repo/castscope.json";
  settings.folder = "/repo";
  settings.per_path = {{"third_party/*", {"*"}}, {"/abs/?.py", {"cache-*"}}};
  EXPECT_TRUE(settings.ignores_in("any-rule", "/repo/third_party/a/b.py", "/repo/training"));
  EXPECT_FALSE(settings.ignores_in("any-rule", "/repository/third_party/a.py", "/repo/training"));
  EXPECT_FALSE(settings.ignores_in("any-rule", "/repo/mine/third_party.py", "/repo/training"));
  EXPECT_TRUE(settings.ignores_in("cache-grows", "/abs/x.py", ""));
  EXPECT_FALSE(settings.ignores_in("dtype-drift", "/abs/x.py", ""));
  EXPECT_FALSE(settings.ignores_in("cache-grows", "", ""));
  EXPECT_TRUE(settings.ignores_in("any-rule", "/repo/training/../third_party/a.py", "/repo/training"));
  EXPECT_FALSE(settings.ignores_in("any-rule", "/repo/third_party/../mine/a.py", "/repo/training"));
}

TEST(SettingsTest, PathsAreSeenAsTheyAreShown) {
  Settings settings;
  settings.folder = "/home/me";
  settings.per_path = {{"src/*", {"*"}}, {"site-packages/lightning/*", {"*"}}};
  EXPECT_TRUE(settings.ignores_in("any-rule", "/repo/src/a.py", "/repo"));
  EXPECT_FALSE(settings.ignores_in("any-rule", "/repo/deep/src/a.py", "/repo"));
  EXPECT_TRUE(settings.ignores_in("any-rule", "/repo/venv/lib/site-packages/lightning/loop.py", "/repo"));
}

}  // namespace
}  // namespace castscope::rules
