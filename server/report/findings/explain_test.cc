#include "server/report/findings/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "server/report/text/lines.h"
#include "server/rules/rules.h"

namespace castscope::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(WrappedTest, BreaksAtSpacesAndCountsCharacters) {
  EXPECT_EQ(wrapped("- ", "  ", "one two three", 9), "- one two\n  three\n");
  EXPECT_EQ(wrapped("", "", "µµµ µµµ", 7), "µµµ µµµ\n");
  EXPECT_EQ(wrapped("", " ", "a-word-too-long for it", 5), "a-word-too-long\n for\n it\n");
  EXPECT_EQ(wrapped("x", "", "", 5), "x\n");
}

TEST(ExplainTest, HasEverythingARuleSays) {
  constexpr rules::Threshold kThresholds[] = {{"entries", 16, "fewer are ordinary"}, {"share", 0.05, "of a step"}};
  const rules::Rule rule = {.name = "cache-test",
                            .severity = "warning",
                            .summary = "a summary",
                            .thresholds = kThresholds,
                            .explanation = {.what = "What.\n\nMore.",
                                            .why = "Why.",
                                            .example = "import torch\n\nf()",
                                            .fix = "- one\n- two",
                                            .fixed_example = "import torch\n\ng()",
                                            .links = "https://a\nhttps://b"},
                            .judge = nullptr};
  EXPECT_EQ(explanation_text(rule, 60), R"(cache-test (warning)
  a summary

What happens
  What.

  More.

Why it matters
  Why.

Example
    import torch

    f()

Fix
  - one
  - two

Example, fixed
    import torch

    g()

Thresholds ("thresholds" in castscope.json)
  entries = 16: fewer are ordinary
  share = 0.05: of a step

Links
  https://a
  https://b

To silence it
  On one line: a comment "# castscope: ignore[cache-test]".
  In files: "per-path-ignores" in castscope.json.
  Everywhere: "ignore" there.
)");
  const nlohmann::ordered_json json = explanation_json(rule)["rules"][0];
  EXPECT_EQ(json["rule_group"], "cache");
  EXPECT_EQ(json["fixed_example"], "import torch\n\ng()");
  EXPECT_EQ(json["thresholds"][1]["default_value"], 0.05);
  EXPECT_EQ(json["links"].size(), 2u);
}

TEST(ExplainTest, ARuleWithoutAFixedExampleSaysSo) {
  const rules::Rule rule = {.name = "gpu-test", .severity = "info", .explanation = {.fix = "Do."}, .judge = nullptr};
  EXPECT_THAT(explanation_text(rule, 60), Not(HasSubstr("Example, fixed")));
  EXPECT_TRUE(explanation_json(rule)["rules"][0]["fixed_example"].is_null());
}

TEST(ExplainTest, EveryRuleHasItsWords) {
  for (const rules::Rule* rule : rules::all_rules()) {
    const std::string text = explanation_text(*rule, 80);
    for (const char* part : {"What happens", "Why it matters", "Fix"}) EXPECT_THAT(text, HasSubstr(part)) << rule->name;
  }
}

TEST(RuleListTest, HasEveryRuleInOneOrderAtEveryWidth) {
  for (const int width : {20, 80, 160}) {
    const std::string list = rule_list_text(width);
    const auto json = rule_list_json();
    std::size_t last = 0;
    for (const auto& entry : json["rules"]) {
      const std::size_t at = list.find(entry["rule"].get<std::string>() + "  ");
      ASSERT_NE(at, std::string::npos) << entry["rule"];
      EXPECT_GE(at, last);
      last = at;
    }
  }
  std::istringstream lines(rule_list_text(80));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(columns(line), 80u) << line;
  EXPECT_EQ(rule_list_json()["rules"].size(), rules::all_rules().size());
}

TEST(ExplainTest, TheWordsOfTheSummaryFitTheirWidth) {
  const std::string text = words_of_casts(60);
  EXPECT_NE(text.find("frozen weight: "), std::string::npos);
  for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
    EXPECT_LE(columns(text.substr(at, text.find('\n', at) - at)), 60u);
}

}  // namespace
}  // namespace castscope::report
