#include "server/redaction/redaction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace castscope::redaction {
namespace {

using ::testing::ElementsAre;
using Words = std::vector<std::string>;

std::string without_secrets(const std::string& text) { return Redaction().text(text); }

std::shared_ptr<Redaction> hiding(const std::string& pattern) { return Redaction::of(pattern).value(); }

TEST(SecretsTest, ValuesOfOptionsThatAreNamedAfterASecretAreReplaced) {
  Redaction redaction;
  EXPECT_THAT(redaction.command({"python", "t.py", "--api-key", "k 1", "--password=p w", "--lr", "3"}),
              ElementsAre("python", "t.py", "--api-key", "[redacted]", "--password=[redacted]", "--lr", "3"));
  EXPECT_THAT(
      redaction.command({"env", "HF_TOKEN=x", "python", "wandb.api_key=y", "--DB-Passwd", "z"}),
      ElementsAre("env", "HF_TOKEN=[redacted]", "python", "wandb.api_key=[redacted]", "--DB-Passwd", "[redacted]"));
}

TEST(SecretsTest, OptionsOfATokenizerStay) {
  const Words words = {"python", "t.py", "--tokenizer", "bpe", "--max-tokens", "512", "--tokens=3", "--secretary", "x"};
  EXPECT_EQ(Redaction().command(words), words);
  EXPECT_EQ(without_secrets("t.py --max-tokens 512 --token-file f"), "t.py --max-tokens 512 --token-file f");
}

// The line of a process has blanks between its words, and maybe in them.
TEST(SecretsTest, AValueInALineEndsWhereTheNextOptionBegins) {
  EXPECT_EQ(without_secrets("python t.py --password my pass word --lr 3"), "python t.py --password [redacted] --lr 3");
  EXPECT_EQ(without_secrets("t.py db.password=a b model.lr=3"), "t.py db.password=[redacted] model.lr=3");
  EXPECT_EQ(without_secrets(R"(t.py {"api_key": "abc"} --x)"), R"(t.py {"api_key": [redacted] --x)");
}

TEST(SecretsTest, TokensAreKnownByTheirForm) {
  const std::string rest = "abcdefghijABCDEFGHIJ0123456789abcdef";
  for (const std::string& token : {"hf_" + rest, "ghp_" + rest, "glpat-" + rest, std::string("AKIAABCDEFGHIJKLMNOP"),
                                   "sk-proj-" + rest, "xoxb-" + rest})
    EXPECT_EQ(Redaction().source("login(\"" + token + "\")"), "login(\"[redacted]\")");
  EXPECT_EQ(without_secrets("https://me:pa55@host/repo"), "https://me:[redacted]@host/repo");
  EXPECT_EQ(Redaction().source("x = f(token=token, api_key=key)"), "x = f(token=token, api_key=key)");
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
