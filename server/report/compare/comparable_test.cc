#include "server/report/compare/comparable.h"

#include <gmock/gmock.h>

#include "server/report/compare/account_test.h"
#include "server/report/compare/difference.h"
#include "server/report/compare/gate.h"

namespace castscope::report {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Json without_text() {
  Json json = report();
  json["source_files"] = Json::array();
  return json;
}

TEST(ComparableTest, RunsThatBothKnowTheirTextAreComparedByIt) {
  const Account one = read(report());
  const Comparable two = comparable(one, one);
  EXPECT_THAT(two.by_number, IsEmpty());
  EXPECT_FALSE(two.sentence().has_value());
  EXPECT_EQ(two.before.sites, one.sites);
  EXPECT_EQ(two.after.fingerprints, one.fingerprints);
}

TEST(ComparableTest, WhereOneKnowsNoTextLinesAreComparedByNumber) {
  const Account with = read(report()), without = read(without_text());
  ASSERT_NE(with.fingerprints, without.fingerprints);
  for (const Comparable& two : {comparable(with, without), comparable(without, with)}) {
    EXPECT_THAT(two.by_number, ElementsAre("train.py"));
    EXPECT_EQ(two.before.sites, two.after.sites);
    EXPECT_EQ(two.before.sites[0].text, "line 8");
    EXPECT_EQ(two.before.sites[1].text, "") << "it has no line";
    EXPECT_EQ(two.before.fingerprints, two.after.fingerprints);
    EXPECT_EQ(*two.sentence(),
              "the source text of train.py is known in one of the two runs only, so lines were compared by their "
              "numbers there: one that moved is called new, and gone");
  }
}

TEST(ComparableTest, TheSameCodeIsNeitherNewNorFixed) {
  const Account with = read(report()), without = read(without_text());
  for (const auto& [before, after] : {std::pair(&with, &without), std::pair(&without, &with)}) {
    const Difference difference = difference_of(*before, *after);
    EXPECT_FALSE(difference.any());
    EXPECT_THAT(difference.doubts, IsEmpty()) << "by number, nothing differs";
    const Verdict verdict = examine(*after, {}, before);
    EXPECT_THAT(verdict.known, ElementsAre(0, 1));
    EXPECT_THAT(verdict.gone, IsEmpty());
    EXPECT_EQ(verdict.outcome, Outcome::kClean);
    EXPECT_THAT(verdict_text(*after, {}, verdict, before, {.settings_file = "", .width = 1000}),
                HasSubstr("note: the source text of train.py is known in one of the two runs only"));
    EXPECT_EQ(verdict_json(*after, {}, verdict, before)["doubts_in_baseline"].size(), 1u);
  }
}

TEST(ComparableTest, WhatDiffersByNumberAloneIsDoubted) {
  Json moved = without_text();
  moved["frames"][0]["line"] = 18;
  const Account before = read(report()), after = read(moved);
  const Difference difference = difference_of(before, after);
  EXPECT_TRUE(difference.any());
  EXPECT_THAT(difference.doubts, ElementsAre(HasSubstr("compared by their numbers")));
}

TEST(ComparableTest, OfSeveralFilesOneIsNamed) {
  Comparable two;
  two.by_number = {"a.py", "b.py", "c.py"};
  EXPECT_THAT(*two.sentence(), HasSubstr("the source text of a.py and of 2 other files is known"));
}

}  // namespace
}  // namespace castscope::report
