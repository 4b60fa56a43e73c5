#include "server/redaction/redaction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace castscope::redaction {
namespace {

using ::testing::ElementsAre;
using Words = std::vector<std::string>;

std::shared_ptr<Redaction> hiding(const std::string& pattern) { return Redaction::of(pattern).value(); }

TEST(RedactionTest, TheWordsOfACommandAreOneLineWithTheSameHidden) {
  const Words words = {"python", "t.py", "--password", "my pass", "train", "--note", "two\nlines", "", "ann"};
  std::string zeros = words[0];
  for (std::size_t i = 1; i < words.size(); ++i) zeros += '\0' + words[i];
  const auto redaction = hiding("ann|note");
  EXPECT_THAT(redaction->command(words), ElementsAre("python", "t.py", "--password", "[redacted]", "train",
                                                     "--[redacted]", "two\nlines", "", "[redacted 2]"));
  EXPECT_EQ(redaction->line(words), "python t.py --password [redacted] train --[redacted] two lines  [redacted 2]");
  EXPECT_EQ(redaction->text(zeros), redaction->line(words));
}

TEST(RedactionTest, TwoTextsThatDifferInWhatIsHiddenStayTwo) {
  const auto redaction = hiding("/home/[^/]+");
  EXPECT_EQ(redaction->text("/home/ann/train.py"), "[redacted]/train.py");
  EXPECT_EQ(redaction->text("/home/bob/train.py"), "[redacted 2]/train.py");
  EXPECT_EQ(redaction->text("/home/ann/other.py"), "[redacted]/other.py");
}

TEST(RedactionTest, APatternMayReachOverWords) {
  EXPECT_THAT(hiding("user \\w+")->command({"run", "--user", "ann", "--fast"}),
              ElementsAre("run", "--[redacted]", "[redacted 2]", "--fast"));
  EXPECT_THAT(hiding("^ann$")->command({"run", "ann", "annex"}), ElementsAre("run", "[redacted]", "annex"));
}

TEST(RedactionTest, WhatWasReplacedIsNotReplacedAgain) {
  const auto redaction = hiding("a.*z|red|\\d+");
  EXPECT_EQ(redaction->text("[redacted 2] red"), "[redacted 2] [redacted]");
  EXPECT_EQ(redaction->text("a secret [redacted] zz"), "[redacted 2][redacted][redacted 3]");
}

TEST(RedactionTest, TextsDoNotGrowWithoutBound) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "ab";
  EXPECT_EQ(hiding("a")->text(text), "[redacted 2]");
}

TEST(RedactionTest, BytesThatAreNoTextHideNothing) {
  EXPECT_EQ(hiding("x.*y")->text("x\xff"
                                 "1y"),
            "[redacted]");
}

TEST(RedactionTest, EverythingIsHidden) {
  const auto redaction = Redaction::of_everything();
  EXPECT_EQ(redaction->text("a"), "[redacted]");
  EXPECT_EQ(redaction->source("b"), "[redacted 2]");
  EXPECT_EQ(redaction->text(""), "");
  EXPECT_EQ(redaction->text(kEverythingIsHidden), kEverythingIsHidden);
  EXPECT_THAT(redaction->command({"a", "c"}), ElementsAre("[redacted]", "[redacted 3]"));
}

TEST(RedactionTest, OfMessagesThatShowCodeTheFirstLineIsKept) {
  Redaction redaction;
  EXPECT_EQ(redaction.text("no such op:\n  File \"a.py\", line 3\n    return f(x)"),
            "no such op:\n  File \"a.py\", line 3\n    return f(x)");
  redaction.keep_first_lines();
  EXPECT_EQ(redaction.text("no such op:\n  File \"a.py\", line 3\n    return f(x)"), "no such op:");
}

TEST(RedactionTest, PatternsAreTakenTogether) {
  EXPECT_EQ(in_one_pattern({"a|b"}).value(), "a|b");
  const std::string both = in_one_pattern({"a|b", "(?i)C"}).value();
  EXPECT_EQ(hiding(both)->text("c-A-b"), "[redacted]-A-[redacted 2]");
  EXPECT_EQ(in_one_pattern({}).value(), "");
  EXPECT_THAT(std::string(in_one_pattern({"a", "b("}).status().message()),
              ::testing::StartsWith("\"b(\" is not a regular expression of RE2: "));
  EXPECT_FALSE(in_one_pattern({"a)|(b"}).ok());
  EXPECT_FALSE(in_one_pattern({""}).ok());
}

}  // namespace
}  // namespace castscope::redaction
