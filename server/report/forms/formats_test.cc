// Tests the promises of each report format, with models that are made here. Tests with whole runs are in
// tests/integration/test_reports.py.
#include "server/report/forms/formats.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "server/report/forms/csv.h"
#include "server/report/forms/formats_test.h"
#include "server/report/forms/markdown.h"
#include "server/report/html/charts.h"
#include "server/report/html/page.h"
#include "server/report/text/html_writer.h"
#include "server/report/text/words.h"
#include "server/utf8/utf8.h"

namespace castscope::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// ---- CSV

TEST(CsvTest, FieldsAreQuotedWhereTheyMust) {
  EXPECT_EQ(csv_field("plain text"), "plain text");
  EXPECT_EQ(csv_field("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_field("say \"x\""), "\"say \"\"x\"\"\"");
  EXPECT_EQ(csv_field("two\nlines"), "\"two\nlines\"");
  EXPECT_EQ(csv_field("caf\xe9"), "caf\xef\xbf\xbd");
}

TEST(CsvTest, ASpreadsheetTakesNothingForAFormula) {
  for (const char* text : {"=1+1", "+1", "-1", "@SUM(A1)", "\tx", "  =1+1", " \t@SUM(A1)"}) {
    EXPECT_THAT(csv_field(text), StartsWith("'")) << text;
  }
  for (const char* text : {"", "  ", "    y = f(x)", "a=1", "'", "#"}) EXPECT_EQ(csv_field(text), text);
  for (const char* text : {"\r\nx", "\n@SUM(A1)"}) EXPECT_THAT(csv_field(text), StartsWith("\"'"));
  EXPECT_EQ(csv_field("=HYPERLINK(\"x\")"), "\"'=HYPERLINK(\"\"x\"\")\"");
}

TEST(CsvTest, ATerminalObeysNothing) {
  EXPECT_EQ(csv_field("a\x1b]0;owned\x07"), "a?]0;owned?");
  EXPECT_EQ(csv_field("\xc2\x9b"
                      "2J"),
            "??2J");
  EXPECT_EQ(csv_field("true\rfalse"), "true?false") << "the rest would be written over the beginning";
  EXPECT_EQ(csv_field("\x1b=1+1"), "?=1+1");
  EXPECT_EQ(csv_field("\tx = 1  # \xc3\xa4"), "'\tx = 1  # \xc3\xa4");
  EXPECT_EQ(csv_field("two\r\nlines"), "\"two\r\nlines\"");
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
  EXPECT_THAT(text, HasSubstr(" more findings are in the JSON report."));
}

TEST(MarkdownTest, InABlockOfHtmlNothingIsEscapedButHtml) {
  const store::RunData run = run_in("/job");
  const std::string text = markdown_text(model(run, {finding("error", "/job/a_<b>_@c.py", 1)}));
  EXPECT_THAT(text, HasSubstr("<summary>cache-grows, a_&lt;b&gt;_@\u200bc.py:1</summary>"));
}

TEST(MarkdownTest, BarsAreEscapedInTablesOnly) {
  const store::RunData run = run_in("/job");
  rules::Finding one = finding("error", "/job/a|b.py", 1);
  one.related = {{"/job/c|d.py", "f", 2}};
  const std::string text = markdown_text(model(run, {one}));
  EXPECT_THAT(text, HasSubstr("| `a\\|b.py:1` |"));
  EXPECT_THAT(text, HasSubstr("see also `c|d.py:2`\n"));
}

TEST(MarkdownTest, WhereNothingWasObservedNothingIsCalledWell) {
  store::RunData run;
  EXPECT_THAT(markdown_text(model(run, {})), StartsWith("### castscope: not observed so far\n"));
  run.end = store::RunEnd{.end_ns = 1, .exit_status = 0, .signal = {}, .complete = true};
  EXPECT_THAT(markdown_text(model(run, {})), StartsWith("### castscope: not observed\n"));
}

TEST(MarkdownTest, HowTheJobEndedStandsFirst) {
  store::RunData run = run_in("/job");
  EXPECT_THAT(markdown_text(model(run, {})), StartsWith("### castscope: no findings\n"));
  run.end->exit_status = 3;
  EXPECT_THAT(markdown_text(model(run, {})),
              StartsWith("### castscope: no findings; the job ended with exit status 3\n"));
  run.end->exit_status.reset();
  run.end->signal = 9;
  EXPECT_THAT(markdown_text(model(run, {finding("error", "/job/a.py", 1)})),
              StartsWith("### castscope: 1 finding (1 error); the job was ended by signal 9 (SIGKILL)\n"));
  run.end.reset();
  EXPECT_THAT(markdown_text(model(run, {})), StartsWith("### castscope: no findings so far\n"));
  run.damage = store::Damage{.sentence = "the run file is cut short", .evidence = false};
  EXPECT_THAT(markdown_text(model(run, {})),
              StartsWith("### castscope: no findings in what can be read of the run file\n"));
}

// Every finding, site and notice has names as long as file names can be: the text says what does not fit.
TEST(MarkdownTest, NoticesStayHoweverLongNamesAre) {
  store::RunData run = run_in("/job");
  const std::string name = "/job/" + std::string(4000, '<') + ".py";
  run.damage = store::Damage{.sentence = "the run file is cut short", .evidence = false};
  for (int i = 0; i < 20; ++i) run.notices.push_back(std::to_string(i) + " " + name);
  run.processes.resize(1);
  run.processes.front().id = store::ProcessId(1);
  for (std::uint32_t i = 1; i <= 10; ++i) {
    run.stacks.push_back({.frames = {{name, "f", i}}, .truncated = false});
    store::Site site;
    site.id = store::SiteId(i), site.stack = store::StackId(i);
    run.sites.push_back(site);
    store::SiteUse use;
    use.site = store::SiteId(i), use.process = store::ProcessId(1), use.counts.casts = 1, use.counts.cpu_ns = 1000;
    run.site_uses.push_back(use);
  }
  const std::string text = markdown_text(model(run, std::vector(30, finding("error", name, 1))));
  EXPECT_LT(text.size(), 65'536u);
  EXPECT_THAT(text, HasSubstr("\n> the run file is cut short\n"));
  EXPECT_THAT(text, HasSubstr(" more notices are in the JSON report.\n"));
  EXPECT_THAT(text, HasSubstr(" more findings are in the JSON report.\n"));
  EXPECT_THAT(text, HasSubstr("The costliest casts are left out here"));
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
  EXPECT_THAT(page, HasSubstr("Not observed: there was nothing that rules could judge."));
  EXPECT_THAT(page, Not(HasSubstr("nothing wrong")));
}

TEST(HtmlTest, AJobThatFailedIsToldAndNotCalledWell) {
  store::RunData run = run_in("/job");
  add_cast(run);
  EXPECT_THAT(html_text(model(run, {})), HasSubstr("The rules found nothing wrong.<"));
  run.end->exit_status = 1;
  const std::string page = html_text(model(run, {}));
  EXPECT_THAT(page, HasSubstr("The job ended with exit status 1.<"));
  EXPECT_THAT(page, HasSubstr("nothing wrong in what was seen, but the job ended with exit status 1"));
}

TEST(HtmlTest, ARunThatCastNothingIsNotPraised) {
  store::RunData run = run_in("/job");
  std::string page = html_text(model(run, {}));
  EXPECT_THAT(page, HasSubstr("Nothing was cast: there were no casts to judge."));
  EXPECT_THAT(page, Not(HasSubstr("nothing wrong")));
  EXPECT_THAT(page, Not(HasSubstr("<dt>steps")));
  run.end->exit_status = 1;
  page = html_text(model(run, {}));
  EXPECT_THAT(page, HasSubstr("No casts were recorded that could be judged, but the job ended with exit status 1"));
}

TEST(HtmlTest, ARunThatWasCutShortSaysSoBesideItsEmptyList) {
  store::RunData run = run_in("/job");
  add_cast(run);
  run.end->complete = false;
  const std::string page = html_text(model(run, {}));
  EXPECT_THAT(page,
              HasSubstr("nothing wrong in what was seen, but the run was cut short: what is missing is not judged"));
  EXPECT_THAT(page, HasSubstr("No findings in what was seen: the run was cut short."));
}

TEST(HtmlTest, WhatASignalEndedIsRed) {
  store::RunData run = run_in("/job");
  run.end->exit_status.reset();
  run.end->signal = 9;
  EXPECT_THAT(html_text(model(run, {})), HasSubstr("<span class=\"end bad\">killed by SIGKILL</span>"));
}

TEST(HtmlTest, SourceThatIsNotShownHasAVerb) {
  store::RunData run = run_in("/job");
  run.source.add({.file = "/job/a.py", .state = store::SourceState::kGone, .lines = {}});
  run.source.add({.file = "/job/b.py", .state = store::SourceState::kUnreadable, .lines = {}});
  const std::string page = html_text(model(run, {}));
  EXPECT_THAT(page, HasSubstr("</code> is gone"));
  EXPECT_THAT(page, HasSubstr("</code> cannot be read"));
}

TEST(HtmlTest, SourceThatIsNotShownIsCountedWhereThereIsMuchOfIt) {
  store::RunData run = run_in("/job");
  for (int i = 0; i < 25; ++i)
    run.source.add({.file = "/job/" + std::to_string(i) + ".py", .state = store::SourceState::kGone, .lines = {}});
  EXPECT_THAT(html_text(model(run, {})), HasSubstr("5 more are in the JSON report."));
}

TEST(HtmlTest, OneMoreIsOne) {
  const store::RunData run = run_in("/job");
  const std::string page = html_text(model(run, std::vector(106, finding("error", "/job/a.py", 1))));
  EXPECT_THAT(page, HasSubstr("<p class=\"soft\">1 more is in the JSON report."));  // 5 cards, 100 rows
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
  run.processes.front().id = store::ProcessId(1);
  for (std::uint32_t step = 0; step < 5000; ++step) {
    store::StepRun one;
    one.process = store::ProcessId(1);
    one.first = one.last = step;
    one.casts = step == 1234 ? 777 : 1;
    run.step_runs.push_back(one);
  }
  EXPECT_FALSE(cache_series(model(run, {})));  // nothing was ever cached
  const std::optional<Series> casts = cast_series(model(run, {}));
  ASSERT_TRUE(casts);
  Html html;
  draw(html, *casts);
  const std::string svg = html.take();
  EXPECT_THAT(svg, HasSubstr("steps 0 to 4,999: at most 777"));
  EXPECT_LT(svg.size(), 40'000u);
}

TEST(ChartTest, OneStepIsNoChart) {
  store::RunData run = run_in("/job");
  run.processes.resize(1);
  run.processes.front().id = store::ProcessId(1);
  run.step_runs.resize(1);
  run.step_runs[0].process = store::ProcessId(1);
  EXPECT_FALSE(cast_series(model(run, {})));
}

// ---- words

TEST(WordsTest, WhatIsNoUtf8IsReplaced) {
  EXPECT_EQ(utf8::repaired("ä€😀"), "ä€😀");
  for (const char* bad : {"\xff", "\xc0\xaf", "\xed\xa0\x80", "\xf5\x80\x80\x80", "\xe2\x82"}) {
    EXPECT_THAT(utf8::repaired(bad), StartsWith("\xef\xbf\xbd")) << bad;
  }
}

TEST(WordsTest, NoControlReachesATerminal) {
  EXPECT_EQ(without_controls("a\x1b[31m\nb\x7f\xc2\x9b\xff"), "a\\x1b[31m\\nb\\x7f\\x9b\xef\xbf\xbd");
  EXPECT_EQ(without_controls("ä\nb\tc", "\n"), "ä\nb\\x09c");
}

TEST(WordsTest, SavingsAreALine) {
  EXPECT_EQ(savings_text(std::nullopt, 2), "");
  const store::Savings savings{.ns_per_step = 3.1e6, .share_of_step = 0.06, .held_bytes = 18'000'000};
  EXPECT_EQ(savings_text(savings, 2), "3.1 ms per step, 6 % of it; a kept copy would hold 18.0 MB");
  EXPECT_EQ(savings_text(savings, 1),  // inference: nothing tells steps apart
            "3.1 ms in all, 6 % of the time that autocast was in use; a kept copy would hold 18.0 MB");
  EXPECT_EQ(savings_text(store::Savings{.ns_per_step = 0, .share_of_step = 0, .held_bytes = 1000}, 2),
            "a kept copy would hold 1.0 kB");
}

TEST(FormatsTest, EachHasAName) {
  for (const FormatName& one : formats()) EXPECT_EQ(format_of(one.name), one.format);
  EXPECT_FALSE(format_of("pdf").has_value());
}

}  // namespace
}  // namespace castscope::report
