// Tests the summary for terminals: what comes first, what fits on a screen, and that nothing is lost in the full form.
#include "server/report/forms/terminal.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "server/report/forms/terminal_text.h"
#include "server/report/model/verdict.h"
#include "server/report/text/lines.h"
#include "server/store/testing/run_store_test.h"
#include "server/utf8/utf8.h"

namespace castscope::report {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class TerminalTest : public store::RunStoreTest {
 protected:
  // A run of ten training steps that cast in three places.
  TerminalTest() : data_(recorded()), judgement_(rules::judgement_of(data_)) { judgement_.findings.clear(); }
  store::RunData recorded() {
    auto run_store = create();
    store::TestRun run(*run_store);
    const std::uint32_t region = run.region("train.py", 5);
    const std::uint32_t sites[] = {run.weight("train.py", 10, "first"), run.weight("train.py", 11, "second"),
                                   run.weight("train.py", 12, "third")};
    for (int step = 0; step < 10; ++step) {
      run.enter(region);
      for (const std::uint32_t site : sites) run.cast(site, 0x7000, false, 1000, 500);
      run.wait(98'500).exit();
      run.optimizer().step(lanes::StepReason::kOptimizer);
    }
    run.end();
    EXPECT_TRUE(run_store->close().ok());
    return read();
  }
  rules::Finding& finding(const std::string& severity, int line, double share = 0) {
    rules::Finding& one = judgement_.findings.emplace_back();
    one.rule = "a-rule-with-a-long-name";
    one.severity = severity;
    one.title =
        "the operators of this line are given what they should not be given, and compute in another dtype than those "
        "who wrote it meant";
    one.location = store::CodeLocation{"/home/user/project/train.py", "main", static_cast<std::uint32_t>(line)};
    one.fix = "Change the line so that it says what was meant; the documentation of the operator has the details.";
    if (share > 0) one.savings = store::Savings{.ns_per_step = 1000, .share_of_step = share, .held_bytes = 0};
    return one;
  }
  std::string text(TerminalOptions options = {}) {
    options.run_file = "/home/user/project/train-20261121-110700.castscope";
    options.report_file = "/home/user/project/train-20261121-110700.json";
    return summary(model_of(data_, judgement_), options);
  }
  std::vector<std::string> lines(int width) {
    std::vector<std::string> all;
    const std::string whole = text({.width = width});
    for (std::size_t at = 0; at < whole.size();) {
      const std::size_t end = whole.find('\n', at);
      all.push_back(whole.substr(at, end - at));
      at = end + 1;
    }
    return all;
  }

  store::RunData data_;
  rules::Judgement judgement_;
};

TEST_F(TerminalTest, TheVerdictComesFirst) {
  finding("performance", 40, 0.012);
  finding("performance", 41, 0.2);
  EXPECT_THAT(text({.width = 160}),
              StartsWith("castscope: Casts take 1.4 % of the step. 2 findings, 1 worth mending today: train.py:41\n"));
}

TEST_F(TerminalTest, WhatIsWorthMostComesFirst) {
  finding("info", 1);
  finding("performance", 2, 0.03);
  finding("performance", 3, 0.3);
  finding("warning", 4);
  finding("error", 5);
  std::vector<std::uint32_t> order;
  const Model model = model_of(data_, judgement_);
  for (const std::size_t at : by_worth(model)) order.push_back(model.findings[at].location->line);
  EXPECT_THAT(order, ElementsAre(5, 4, 3, 2, 1));
}

TEST_F(TerminalTest, WhatMayChangeResultsIsToldFirst) {
  finding("warning", 3).rule = "cache-grows";
  EXPECT_THAT(text({.width = 160}), HasSubstr("1 finding, worth mending today: train.py:3\n"));
  EXPECT_THAT(text(), HasSubstr("cache-grows  train.py:3  costs memory\n"));
  finding("warning", 4).rule = "dtype-position-loss";
  finding("info", 5).rule = "dtype-overflow";
  EXPECT_THAT(text({.width = 160}),
              HasSubstr("3 findings, 2 worth mending today, 1 may change results: train.py:4 first"));
  EXPECT_THAT(text(), HasSubstr("dtype-position-loss  train.py:4  may change results\n"));
  finding("performance", 6, 0.1).rule = "dtype-overflow";
  EXPECT_THAT(text(), HasSubstr("dtype-overflow  train.py:6  costs time\n"));
  judgement_.findings.erase(judgement_.findings.begin());
  judgement_.findings.resize(1);
  EXPECT_THAT(text({.width = 160}), HasSubstr("1 finding, which may change results: train.py:4\n"));
}

TEST_F(TerminalTest, OfALongPathTheEndIsShown) {
  rules::Finding& one = finding("warning", 11);
  one.rule = "dtype-position-loss";
  one.location->file = "/home/user/project/src/models/blocks/attention/rotary_layers.py";
  EXPECT_THAT(text({.width = 82}),
              HasSubstr("  warning dtype-position-loss  …/attention/rotary_layers.py:11  may change results\n"));
  EXPECT_THAT(text({.width = 60}), HasSubstr("  warning dtype-position-loss  …/rotary_layers.py:11\n"));
}

TEST_F(TerminalTest, FiveFindingsFitOnAScreen) {
  for (int line = 1; line <= 5; ++line) finding(line < 3 ? "warning" : "performance", line, 0.1);
  for (const int width : {80, 120}) {
    const std::vector<std::string> all = lines(width);
    EXPECT_LE(all.size(), kSummaryLines) << width;
    for (const std::string& line : all) EXPECT_LE(columns(line), static_cast<std::size_t>(width)) << line;
    for (int line = 1; line <= 5; ++line)
      EXPECT_TRUE(std::ranges::any_of(all, [&](const std::string& text) {
        return text.find("train.py:" + std::to_string(line)) != std::string::npos;
      })) << line;
  }
}

TEST_F(TerminalTest, TheFirstFixIsShownWhereThereIsRoom) {
  finding("warning", 1);
  EXPECT_THAT(text(), HasSubstr("fix: Change the line"));
  EXPECT_THAT(text(), Not(HasSubstr("--summary=full")));
}

TEST_F(TerminalTest, OfALongFixTheBeginIsShown) {
  std::string& fix = finding("warning", 1).fix;
  fix.clear();
  for (int i = 0; i < 400; ++i) fix += i == 0 ? "Change" : " it";
  EXPECT_THAT(text(), HasSubstr("    fix: Change it"));
  EXPECT_THAT(text(), HasSubstr(" it …\n  all of it: "));
  EXPECT_LE(lines(80).size(), kSummaryLines);
}

// Where a place is left out, the first fix is whole, or findings fill the screen.
TEST_F(TerminalTest, CostlyPlacesAreLeftOutOnlyForWhatFindingsSay) {
  const std::string words = " this", end = " end";
  for (int count = 1; count <= 5; ++count) {
    finding("warning", count, count % 2 == 0 ? 0.1 : 0);
    for (std::size_t size = 50; size <= 1000; size += 50) {
      rules::Finding& first = judgement_.findings.front();
      first.title = first.fix = "Change";
      while (first.title.size() < size % 350) first.title += words;
      while (first.fix.size() < size) first.fix += words;
      first.fix += end;
      const std::string whole = text({.width = 80});
      const bool all_places = whole.find("train.py:12  linear weight") != std::string::npos;
      const bool whole_fix = whole.find(end + "\n") != std::string::npos;
      EXPECT_TRUE(all_places || whole_fix || lines(80).size() == kSummaryLines) << whole;
    }
  }
}

TEST_F(TerminalTest, WhatIsOnlyWorthKnowingIsOneLine) {
  finding("info", 7);
  finding("info", 8);
  EXPECT_THAT(text(), HasSubstr("\n  info 2 findings worth knowing: a-rule-with-a-long-name train.py:7, "));
  EXPECT_THAT(text(), HasSubstr("2 findings, none worth mending today."));
  EXPECT_THAT(text(), HasSubstr("all of it: castscope report --summary=full\n"));
}

TEST_F(TerminalTest, InALibraryTheUsersOwnLineComesFirst) {
  rules::Finding& one = finding("warning", 7);
  one.related = {*one.location};
  one.location = store::CodeLocation{"/venv/lib/python3.11/site-packages/library/layer.py", "forward", 93};
  const std::string all = text({.full = true});
  EXPECT_THAT(all, HasSubstr("  warning a-rule-with-a-long-name  train.py:7\n"));
  EXPECT_THAT(all, HasSubstr("see also site-packages/library/layer.py:93\n"));
}

// With all that can stand below the findings, fewer casts are named, and the last findings have no title.
TEST_F(TerminalTest, FiveFindingsFitOnAScreenWithAllThatThereIsToTell) {
  for (int line = 1; line <= 5; ++line) finding("warning", line);
  store::Metric loss;
  loss.process = store::ProcessId(1);
  loss.name = "loss";
  loss.values = 2;
  loss.first = 2, loss.last = loss.least = 1, loss.most = 2;
  data_.metrics = {loss};
  const std::string hint = "a hint that is longer than a line of eighty columns, as most are, so that it takes two";
  judgement_.hints = {hint, hint};
  const std::vector<std::string> all = lines(80);
  EXPECT_LE(all.size(), kSummaryLines);
  for (int line = 1; line <= 5; ++line)
    EXPECT_THAT(all, testing::Contains(HasSubstr("train.py:" + std::to_string(line)))) << line;
  EXPECT_THAT(all, testing::Contains(HasSubstr("  loss 2 to 1")));
  EXPECT_THAT(all, testing::Contains(HasSubstr("all of it: castscope report --summary=full")));
}

TEST_F(TerminalTest, ALongPlaceLeavesRoomForWhatIsCast) {
  for (store::Stack& stack : data_.stacks)
    for (store::CodeLocation& frame : stack.frames)
      if (frame.file.starts_with("/home/user/project/"))
        frame.file = "/home/user/project/src/mycompany/models/attention/multihead/variants/train_attention.py";
  EXPECT_THAT(lines(80), testing::Contains(testing::AllOf(HasSubstr("…/"), HasSubstr("train_attention.py:10"),
                                                          HasSubstr("linear weight of first: 4"))));
}

TEST_F(TerminalTest, MoreThanFiveFindingsAreCounted) {
  for (int line = 1; line <= 8; ++line) finding("warning", line);
  EXPECT_THAT(text(), HasSubstr("  and 3 more; all of it: castscope report --summary=full"));
}

TEST_F(TerminalTest, TheFullFormLeavesNothingOut) {
  for (int line = 1; line <= 8; ++line) finding("warning", line);
  const std::string all = text({.full = true});
  std::size_t fixes = 0;
  for (std::size_t at = all.find("fix: "); at != std::string::npos; at = all.find("fix: ", at + 1)) ++fixes;
  EXPECT_EQ(fixes, 8u);
  EXPECT_THAT(all, HasSubstr("  cast: weights 30"));
  EXPECT_THAT(all, Not(HasSubstr("…")));
}

TEST_F(TerminalTest, NoFindingIsTold) { EXPECT_THAT(text({.width = 160}), HasSubstr("of the step. No findings")); }

TEST(TerminalTextTest, ColoursTakeNoRoomAndAreClosed) {
  const TerminalText plain(40, false), coloured(40, true);
  const std::vector<TerminalText::Head> words = {{"  "}, {"warning", "33"}, {" in a line that is too long for it"}};
  EXPECT_EQ(plain.one_line(words), "  warning in a line that is too long fo…");
  EXPECT_EQ(coloured.one_line(words), "  \033[33mwarning\033[0m in a line that is too long fo…");
}

TEST(TerminalTextTest, ALineIsCutBetweenCharactersWhereverItsWordsEnd) {
  for (std::size_t length = 15; length < 25; ++length) {
    const std::string line = TerminalText(20, false).one_line({{std::string(length, 'x')}, {" µµ"}, {"  y"}});
    EXPECT_LE(columns(line), 20u);
    EXPECT_EQ(utf8::repaired(line), line);
  }
}

TEST(TerminalTextTest, ControlCharactersAreMadeHarmless) {
  EXPECT_EQ(TerminalText(80, false).one_line({{"a\033[2Jb"}}), "a?[2Jb");
  EXPECT_THAT(TerminalText(80, false).paragraph({"  "}, "  ", "a\rb"), ElementsAre("  a?b"));
}

TEST(TerminalTextTest, WhatIsLeftOutIsMarked) {
  const TerminalText text(20, false);
  const TerminalLines lines = text.paragraph({"  "}, "  ", "one two three four five six seven");
  EXPECT_THAT(text.beginning(lines, 1), ElementsAre("  one two three …"));
  EXPECT_EQ(text.beginning(lines, 9), lines);
}

}  // namespace
}  // namespace castscope::report
