// Tests the parts that the page is made of. Tests of whole pages are in forms/formats_test.cc, and in a browser in
// tests/integration/test_report_page.py.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/report/drawings/flame.h"
#include "server/report/forms/formats_test.h"
#include "server/report/html/excerpts.h"
#include "server/report/html/page_text.h"
#include "server/report/html/table.h"

namespace castscope::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string written(Table& table, std::size_t all) {
  Html html;
  table.write(html, all, "JSON");
  return html.take();
}

TEST(PageTableTest, RowsThatReadAlikeAreToldApartByWhatDiffers) {
  Table table("Rows.", {{"where"}, {"casts", true}});
  table.add({.cells = {"a.py:1", "5"}, .telling = {"forward", "called at b.py:2", "site 1"}});
  table.add({.cells = {"a.py:1", "6"}, .telling = {"forward", "called at b.py:3", "site 2"}});
  table.add({.cells = {"a.py:2", "6"}, .telling = {"forward", "called at b.py:3", "site 3"}});
  const std::string text = written(table, 3);
  EXPECT_THAT(text, HasSubstr(">a.py:1 (called at b.py:2)<"));
  EXPECT_THAT(text, HasSubstr(">a.py:1 (called at b.py:3)<"));
  EXPECT_THAT(text, HasSubstr(">a.py:2<"));  // nothing else reads so
}

TEST(PageTableTest, WhatStillReadsAlikeIsToldApartFurther) {
  Table table("Rows.", {{"where"}});
  table.add({.cells = {"a.py:1"}, .telling = {"forward", "site 1"}});
  table.add({.cells = {"a.py:1"}, .telling = {"backward", "site 2"}});
  table.add({.cells = {"a.py:1"}, .telling = {"backward", "site 3"}});
  const std::string text = written(table, 3);
  EXPECT_THAT(text, HasSubstr(">a.py:1 (forward)<"));
  EXPECT_THAT(text, HasSubstr(">a.py:1 (backward) (site 2)<"));
  EXPECT_THAT(text, HasSubstr(">a.py:1 (backward) (site 3)<"));
}

TEST(PageTableTest, ManyRowsAreFoldedAndTheRestIsCounted) {
  Table table("Rows.", {{"where"}, {"casts", true, true}});
  for (int i = 0; i < 40; ++i) table.add({.cells = {"a.py:" + std::to_string(i), "1"}});
  const std::string text = written(table, 1040);
  EXPECT_THAT(text, HasSubstr("<summary>Rows 16 to 40 of 1,040</summary>"));
  EXPECT_THAT(text, HasSubstr("1,000 more are in the JSON report."));
  EXPECT_THAT(text, HasSubstr("aria-sort=\"descending\">casts\u00a0▼</th>"));
}

TEST(PageTableTest, AFewRowsMoreAreNotFolded) {
  Table table("Rows.", {{"where"}});
  for (int i = 0; i < 17; ++i) table.add({.cells = {"a.py:" + std::to_string(i)}});
  EXPECT_THAT(written(table, 17), Not(HasSubstr("<details>")));
}

class ExcerptsTest : public ::testing::Test {
 protected:
  ExcerptsTest() : run_(run_in("/job")) {
    store::SourceFile file{.file = "/job/a.py", .state = store::SourceState::kKept, .lines = {}};
    for (std::int64_t line = 1; line <= 60; ++line) file.lines[line] = "line";
    run_.source.add(file);
  }
  std::vector<std::string> places(const std::vector<std::int64_t>& lines) {
    std::vector<store::CodeLocation> at;
    for (const std::int64_t line : lines) at.push_back({"/job/a.py", "f", line});
    std::vector<std::string> all;
    for (const Excerpt& excerpt : excerpts_of(run_, at)) all.push_back(excerpt.places);
    return all;
  }
  store::RunData run_;
};

TEST_F(ExcerptsTest, ThoseThatTouchAreOne) {
  EXPECT_THAT(places({10, 17}), ::testing::ElementsAre("a.py:10, 17"));  // 7 to 13, 14 to 20
  EXPECT_THAT(places({10, 18}), ::testing::ElementsAre("a.py:10", "a.py:18"));
  EXPECT_THAT(places({30, 10, 36}), ::testing::ElementsAre("a.py:30, 36", "a.py:10"));
}

TEST_F(ExcerptsTest, OneBetweenTwoJoinsThem) {
  EXPECT_THAT(places({10, 22, 16}), ::testing::ElementsAre("a.py:10, 16, 22"));
}

TEST(PageTextTest, TimeThatNobodyMeasuredIsNotZero) {
  store::Counts counts;
  EXPECT_EQ(time_of_casts(counts), "");
  counts.casts = 3;
  EXPECT_EQ(time_of_casts(counts), "not timed");
  EXPECT_EQ(part_of_time(0, counts), "not timed");
  counts.cpu_ns = 300;
  EXPECT_EQ(time_of_casts(counts), "<1 µs");
  EXPECT_EQ(part_of_time(0, counts), "–");
}

TEST(PageTextTest, IdentifiersBecomeWords) {
  EXPECT_EQ(reasons_in_words("no_requires_grad, view"), "frozen weight, a view");
  EXPECT_EQ(reasons_in_words("something else"), "something else");
  EXPECT_EQ(cause_words(lanes::Cause::kUserTo), "explicit to()");
}

TEST(PageTextTest, WhatStandsBetweenBackticksIsCode) {
  Html html;
  write_with_code(html, "call `x.to(y)` or ` not");
  EXPECT_EQ(html.take(), "call <code>x.to(y)</code> or ` not");
}

TEST(FlameTest, PartsAreAsWideAsTheirShareAndThinOnesAreOne) {
  Frame whole{.name = "all", .tip = "all", .look = "", .value = 1000, .parts = {}};
  whole.parts.push_back({.name = "first", .tip = "first", .look = "d-f32", .value = 750, .parts = {}});
  for (int i = 0; i < 100; ++i)
    whole.parts.push_back({.name = "thin", .tip = "thin", .look = "", .value = 2.5, .parts = {}});
  Html html;
  draw_flame(html, whole, "spoken");
  const std::string svg = html.take();
  EXPECT_THAT(svg, HasSubstr("<svg class=\"d-f32\" x=\"0.000%\" y=\"24\" width=\"75.000%\""));
  EXPECT_THAT(svg, HasSubstr("<svg class=\"more\" x=\"75.000%\" y=\"24\" width=\"25.000%\""));
  EXPECT_THAT(svg, HasSubstr(">100 more</div>"));
  EXPECT_THAT(svg, Not(HasSubstr(">thin<")));
}

TEST(FlameTest, OfNothingThereIsNoPicture) {
  Html html;
  draw_flame(html, Frame{.name = "all", .tip = "", .look = "", .value = 0, .parts = {}}, "spoken");
  EXPECT_EQ(html.take(), "");
}

}  // namespace
}  // namespace castscope::report
