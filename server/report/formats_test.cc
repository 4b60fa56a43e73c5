// What the forms of a report owe their readers, of models that are made here; whole runs are in
// tests/integration/test_reports.py.
#include "server/report/formats.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "server/report/csv.h"
#include "server/report/html.h"
#include "server/report/html_charts.h"
#include "server/report/html_writer.h"
#include "server/report/markdown.h"
#include "server/report/sarif.h"
#include "server/report/words.h"

namespace castscope::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

store::RunData run_in(const std::string& folder) {
  store::RunData run;
  run.start.command = {"python", "train.py"};
  run.start.cwd = folder;
  run.end = store::RunEnd{.end_ns = 1, .exit_status = 0, .signal = {}, .complete = true};
  return run;
}

rules::Finding finding(const std::string& severity, const std::string& file, std::int64_t line) {
  rules::Finding finding;
  finding.rule = "cache-grows";
  finding.severity = severity;
  finding.title = "it grows";
  finding.fix = "Let it not.";
  if (!file.empty()) finding.location = store::CodeLocation{file, "train", line};
  return finding;
}

Model model(const store::RunData& run, std::vector<rules::Finding> findings) {
  rules::Judgement judgement;
  judgement.findings = std::move(findings);
  return model_of(run, std::move(judgement));
}

nlohmann::json sarif(const Model& model) { return nlohmann::json::parse(sarif_text(model))["runs"][0]; }

// ---- SARIF

TEST(SarifTest, SeveritiesBecomeLevels) {
  const store::RunData run = run_in("/job");
  const auto results =
      sarif(model(run, {finding("error", "/job/a.py", 1), finding("warning", "/job/a.py", 1),
                        finding("performance", "/job/a.py", 1), finding("info", "/job/a.py", 1)}))["results"];
  std::string levels;
  for (const auto& result : results) levels += result["level"].get<std::string>() + " ";
  EXPECT_EQ(levels, "error warning warning note ");
  EXPECT_EQ(results[2]["properties"]["tags"], nlohmann::json::array({"performance"}));
  EXPECT_FALSE(results[1]["properties"].contains("tags"));
}

TEST(SarifTest, MoreThanCodeScanningTakesIsLeftOutAndTold) {
  const store::RunData run = run_in("/job");
  const auto log = sarif(model(run, std::vector(kMostSarifResults + 2, finding("error", "/job/a.py", 1))));
  EXPECT_EQ(log["results"].size(), kMostSarifResults);
  EXPECT_THAT(log["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"].get<std::string>(),
              StartsWith("2 findings are left out"));
}

TEST(SarifTest, AFindingWithoutALineStandsAtTheScript) {
  const store::RunData run = run_in("/job");
  const auto result = sarif(model(run, {finding("error", "", 0)}))["results"][0];
  EXPECT_EQ(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "train.py");
  EXPECT_EQ(result["locations"][0]["physicalLocation"]["region"]["startLine"], 1);
  EXPECT_THAT(result["message"]["text"].get<std::string>(), HasSubstr("The line is not known"));
}

TEST(SarifTest, PathsBecomeUris) {
  const store::RunData run = run_in("/job");
  EXPECT_EQ(uri_of(run, "/job/a b/ä.py"), (std::pair<std::string, bool>("a%20b/%C3%A4.py", true)));
  EXPECT_EQ(uri_of(run, "/jobs/a.py"), (std::pair<std::string, bool>("file:///jobs/a.py", false)));
  EXPECT_EQ(uri_of(run, "<string>"), (std::pair<std::string, bool>("%3Cstring%3E", true)));
}

TEST(SarifTest, UrisBeginAtTheCheckout) {
  store::RunData run = run_in("/src/repo/jobs");
  run.start.checkout = "/src/repo";
  EXPECT_EQ(uri_of(run, "/src/repo/src/a.py"), (std::pair<std::string, bool>("src/a.py", true)));
  const auto log = sarif(model(run, {finding("error", "", 0)}));
  EXPECT_EQ(log["originalUriBaseIds"]["%SRCROOT%"]["uri"], "file:///src/repo/");
  EXPECT_EQ(log["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "jobs/train.py");
}

TEST(SarifTest, RelatedPlacesHaveNumbers) {
  const store::RunData run = run_in("/job");
  rules::Finding one = finding("error", "/job/a.py", 1);
  one.related = {{"/job/b.py", "f", 2}, {"/job/c.py", "f", 3}};
  const auto related = sarif(model(run, {one}))["results"][0]["relatedLocations"];
  EXPECT_EQ(related[0]["id"], 1);
  EXPECT_EQ(related[1]["id"], 2);
  EXPECT_EQ(related[1]["physicalLocation"]["region"]["startLine"], 3);
}

TEST(SarifTest, WhatIsSilencedIsCountedNotTold) {
  const store::RunData run = run_in("/job");
  rules::Judgement judgement;
  judgement.silenced = {finding("error", "/job/a.py", 1)};
  judgement.ignored_in_code = 1;
  const auto log = sarif(model_of(run, judgement));
  EXPECT_TRUE(log["results"].empty());
  EXPECT_EQ(log["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"],
            "1 finding ignored by a comment in the code");
}

// ---- CSV

TEST(CsvTest, FieldsAreQuotedWhereTheyMust) {
  EXPECT_EQ(csv_field("plain text"), "plain text");
  EXPECT_EQ(csv_field("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_field("say \"x\""), "\"say \"\"x\"\"\"");
  EXPECT_EQ(csv_field("two\nlines"), "\"two\nlines\"");
  EXPECT_EQ(csv_field("caf\xe9"), "caf\xef\xbf\xbd");
}

TEST(CsvTest, ASpreadsheetTakesNothingForAFormula) {
  for (const char* text : {"=1+1", "+1", "-1", "@SUM(A1)", "\tx"}) {
    EXPECT_THAT(csv_field(text), StartsWith("'")) << text;
  }
  EXPECT_EQ(csv_field("=HYPERLINK(\"x\")"), "\"'=HYPERLINK(\"\"x\"\")\"");
}

// ---- Markdown

TEST(MarkdownTest, TextShowsAsItIs) {
  EXPECT_EQ(markdown_escaped("a|b *c* `d` <e>"), "a\\|b \\*c\\* \\`d\\` &lt;e&gt;");
  EXPECT_EQ(markdown_escaped("@team"), "@\u200bteam");
}

TEST(MarkdownTest, IsShortHoweverManyFindings) {
  const store::RunData run = run_in("/job");
  rules::Finding long_one = finding("error", "/job/a.py", 1);
  long_one.fix = std::string(9000, 'x');
  const std::string text = markdown_text(model(run, std::vector(1000, long_one)));
  EXPECT_LT(text.size(), 65'536u);
  EXPECT_THAT(text, HasSubstr("### castscope: 1,000 findings (1,000 errors)"));
  EXPECT_THAT(text, HasSubstr(" more are in the report."));
}

TEST(MarkdownTest, FencesAreLongerThanWhatTheyHold) {
  store::RunData run = run_in("/job");
  run.source.add({.file = "/job/a.py", .state = store::SourceState::kKept, .lines = {{1, "x = '````'"}}});
  EXPECT_THAT(markdown_text(model(run, {finding("error", "/job/a.py", 1)})),
              HasSubstr("`````\n>    1  x = '````'\n`````"));
}

// ---- the page

TEST(HtmlTest, NothingBecomesMarkup) {
  EXPECT_EQ(html_escaped("<a b=\"c\">&'"), "&lt;a b=&quot;c&quot;&gt;&amp;&#39;");
  EXPECT_EQ(html_escaped("a\x01\x1b[31m\xff"), "a[31m\xef\xbf\xbd");
  store::RunData run = run_in("/job");
  run.start.command = {"</title><script>"};
  run.source.add({.file = "/job/<b>.py", .state = store::SourceState::kKept, .lines = {{1, "</pre><i>"}}});
  rules::Finding odd = finding("error", "/job/<b>.py", 1);
  odd.title = "<img src=x>";
  odd.evidence_text = {{"<td>", "<script>"}};
  const std::string page = html_text(model(run, {odd}));
  for (const char* markup : {"<script", "<img", "<b>", "</pre><i>"}) EXPECT_THAT(page, Not(HasSubstr(markup)));
}

TEST(HtmlTest, ARunWithoutAnythingIsAPage) {
  const std::string page = html_text(model(store::RunData(), {}));
  EXPECT_THAT(page, StartsWith("<!DOCTYPE html>"));
  EXPECT_THAT(page, HasSubstr("The rules found nothing wrong in what was seen."));
}

TEST(ChartTest, AxesEndAtRoundNumbers) {
  EXPECT_EQ(round_up(0), 1);
  EXPECT_EQ(round_up(1), 1);
  EXPECT_EQ(round_up(1.1), 2);
  EXPECT_EQ(round_up(34), 50);
  EXPECT_EQ(round_up(501), 1000);
}

TEST(ChartTest, NoPeakIsLostHoweverManySteps) {
  store::RunData run = run_in("/job");
  run.processes.resize(1);
  run.processes[0].id = 1;
  for (std::uint32_t step = 0; step < 5000; ++step) {
    store::StepRun one;
    one.process = 1;
    one.first = one.last = step;
    one.casts = step == 1234 ? 777 : 1;
    run.step_runs.push_back(one);
  }
  const std::vector<Series> all = step_series(model(run, {}));
  ASSERT_EQ(all.size(), 1u);  // nothing was ever cached
  Html html;
  draw(html, all[0]);
  const std::string svg = html.take();
  EXPECT_THAT(svg, HasSubstr("steps 0 to 4,999: at most 777"));
  EXPECT_LT(svg.size(), 40'000u);
}

TEST(ChartTest, OneStepIsNoChart) {
  store::RunData run = run_in("/job");
  run.processes.resize(1);
  run.processes[0].id = 1;
  run.step_runs.resize(1);
  run.step_runs[0].process = 1;
  EXPECT_TRUE(step_series(model(run, {})).empty());
}

// ---- words

TEST(WordsTest, WhatIsNoUtf8IsReplaced) {
  EXPECT_EQ(as_utf8("ä€😀"), "ä€😀");
  for (const char* bad : {"\xff", "\xc0\xaf", "\xed\xa0\x80", "\xf5\x80\x80\x80", "\xe2\x82"}) {
    EXPECT_THAT(as_utf8(bad), StartsWith("\xef\xbf\xbd")) << bad;
  }
}

TEST(WordsTest, SavingsAreALine) {
  EXPECT_EQ(savings_text(std::nullopt), "");
  EXPECT_EQ(savings_text(store::Savings{.ns_per_step = 3.1e6, .share_of_step = 0.06, .held_bytes = 18'000'000}),
            "3.1 ms per step, 6 % of it; a kept copy would hold 18.0 MB");
  EXPECT_EQ(savings_text(store::Savings{.ns_per_step = 0, .share_of_step = 0, .held_bytes = 1000}),
            "a kept copy would hold 1.0 kB");
}

TEST(FormatsTest, EachHasAName) {
  for (const FormatName& one : formats()) EXPECT_EQ(format_of(one.name), one.format);
  EXPECT_FALSE(format_of("pdf").has_value());
}

}  // namespace
}  // namespace castscope::report
