// Tests how the graph of a step is drawn and written. The tests of its contents are in server/graph.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "server/report/drawings/dot.h"
#include "server/report/drawings/labels.h"
#include "server/report/drawings/svg.h"
#include "server/store/testing/test_run.h"
#include "server/store/write/run_store.h"

namespace castscope::report {
namespace {

using lanes::Role;
using store::kBFloat16;
using store::kFloat32;
using store::operand;
using store::TestRun;
using store::TestUse;
using ::testing::HasSubstr;
using ::testing::Not;

class GraphReportTest : public ::testing::Test {
 protected:
  GraphReportTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "castscope-drawn-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~GraphReportTest() override { std::filesystem::remove_all(folder_); }

  // fc1 in bfloat16, an island in float32, and fc2, for which the island's result is cast.
  store::RunData run_with_island(const std::string& island = "island") {
    store::RunStart start;
    start.cwd = "/home/user/project";
    auto store = store::RunStore::create((folder_ / "run.castscope").string(), start);
    EXPECT_TRUE(store.ok()) << store.status().message();
    TestRun run(**store);
    run.enter(run.region("train.py", 5));
    const auto weight = run.weight("train.py", 10, "fc1");
    TestUse linear{.op = "aten::linear",
                   .line = 10,
                   .operands = {operand(kFloat32), operand(kFloat32, Role::kWeight)},
                   .computed = kBFloat16,
                   .flags = lanes::kUseEligible | lanes::kUseGradMode,
                   .module = "fc1"};
    const auto fc1 = run.use(linear);
    const auto exp = run.use({.op = "aten::exp",
                              .line = 11,
                              .operands = {operand(kBFloat16)},
                              .computed = kFloat32,
                              .flags = lanes::kUseEligible | lanes::kUseGradMode,
                              .module = island});
    linear.line = 12;
    linear.module = "fc2";
    const auto fc2 = run.use(linear);
    const auto up = run.flow(fc1, exp, 0, kFloat32), down = run.flow(exp, fc2, 0, kBFloat16);
    run.deep().cast(weight, 0x100, true).called(fc1).called(exp).flowed(up).called(fc2).flowed(down).exit().shallow();
    run.end();
    return *(*store)->read();
  }
  static std::string drawn(const store::RunData& run) {
    Html html;
    const std::vector<graph::Part> parts = graph::parts_of(run);
    draw_view(html, run, parts.at(0), graph::fold(parts.at(0)).at(0), "graph1");
    return html.take();
  }
  static void expect_golden(const std::string& name, const std::string& text) {
    const std::string path = std::string(CASTSCOPE_SOURCE_DIR) + "/tests/golden/reports/" + name;
    if (std::getenv("CASTSCOPE_UPDATE_GOLDEN")) std::ofstream(path) << text;
    std::ifstream file(path);
    std::stringstream golden;
    golden << file.rdbuf();
    EXPECT_EQ(text, golden.str()) << path;
  }

  std::filesystem::path folder_;
};

TEST_F(GraphReportTest, DrawnAsBefore) { expect_golden("graph.svg", drawn(run_with_island())); }

TEST_F(GraphReportTest, CastsAreMarkedOnLinesAndAboveBoxes) {
  const std::string svg = drawn(run_with_island());
  EXPECT_THAT(svg, HasSubstr(">bf16→f32</text>"));
  EXPECT_THAT(svg, HasSubstr(">f32→bf16</text>"));
  EXPECT_THAT(svg, HasSubstr(">weight f32→bf16</text>"));
  EXPECT_THAT(svg, HasSubstr("<a href=\"#graph1-op1\">"));
  EXPECT_THAT(svg, HasSubstr("train.py:11"));
}

TEST_F(GraphReportTest, TheDtypeIsSaidInWords) {
  const std::string svg = drawn(run_with_island());
  EXPECT_THAT(svg, HasSubstr(">bf16</text>"));
  EXPECT_THAT(svg, HasSubstr(">f32</text>"));
  EXPECT_THAT(svg, HasSubstr("computes in float32"));
}

TEST_F(GraphReportTest, NamesStayText) {
  const store::RunData run = run_with_island("a\"b<script>\\");
  EXPECT_THAT(drawn(run), Not(HasSubstr("<script>")));
  EXPECT_THAT(dot_text(run), HasSubstr("a\\\"b<script>\\\\"));
}

TEST_F(GraphReportTest, DotAsBefore) { expect_golden("graph.dot", dot_text(run_with_island())); }

TEST_F(GraphReportTest, DotWithoutDeepSteps) {
  EXPECT_THAT(dot_text(store::RunData()), HasSubstr("no deep step was recorded"));
}

TEST_F(GraphReportTest, TextsInDot) { EXPECT_EQ(dot_escaped("a \"b\" c\\d\ne\x01"), "a \\\"b\\\" c\\\\d\\ne"); }

TEST_F(GraphReportTest, CastsOfOneKindAreOneMark) {
  graph::Node node;
  node.entries = {{.argument = "weight", .role = Role::kWeight, .from = kFloat32, .to = kBFloat16},
                  {.argument = "bias", .role = Role::kWeight, .from = kFloat32, .to = kBFloat16},
                  {.argument = "", .role = Role::kInput, .from = kBFloat16, .to = kFloat32}};
  EXPECT_THAT(entry_marks(node), ::testing::ElementsAre("weight, bias f32→bf16", "input bf16→f32"));
}

}  // namespace
}  // namespace castscope::report
