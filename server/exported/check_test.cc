#include "server/exported/check.h"

#include <gmock/gmock.h>

#include "server/exported/program/package_reader.h"
#include "server/exported/testing/test_program.h"

namespace castscope::exported {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

Package package_of(const TestGraph& graph, const std::vector<std::string>& weights = {}) {
  Package package;
  package.file = "model.pt2";
  package.programs.push_back(program_of(graph, weights));
  return package;
}

Checked checked(const Package& package, const rules::Settings& settings = {}, const report::Gate& gate = {}) {
  return check(package, settings, "/job", gate, 80);
}

TEST(CheckTest, ALostRegionFails) {
  const Checked result = checked(package_of(dropped()));
  EXPECT_EQ(result.verdict.outcome, report::Outcome::kFindings);
  EXPECT_THAT(result.text, StartsWith("castscope check: model.pt2 fails: 1 finding of severity warning or higher\n"));
  EXPECT_THAT(result.text, HasSubstr("\n  error export-drops-region  model.py:12\n"));
  EXPECT_THAT(result.text, HasSubstr("float32: add, gelu, linear\n"));
  EXPECT_EQ(result.json["check_exit_status"], 1);
  EXPECT_EQ(result.json["failing_findings"][0]["file"], "model.py");
  EXPECT_EQ(result.json["failing_findings"][0]["function"], "Net.forward");
  EXPECT_EQ(result.json["programs"][0]["operators"][2]["computed_in"], "float32");
}

TEST(CheckTest, ARegionThatIsKeptIsCleanAndTold) {
  const auto within = TestGraph().input("x", kF32).op("aten.mm.default", {"x", "x"}, "mm", kBF16, 7).gives("mm");
  const Checked result =
      checked(package_of(TestGraph().input("x", kF32).region("cpu", kBF16, true, within, {"x"}, "out", kBF16)));
  EXPECT_EQ(result.verdict.outcome, report::Outcome::kClean);
  EXPECT_THAT(result.text, StartsWith("castscope check: model.pt2 clean\n"));
  EXPECT_THAT(result.text, HasSubstr("    bfloat16: mm\n"));
  EXPECT_THAT(result.text, HasSubstr("    autocast(\"cpu\", bfloat16), 1 operator, from model.py:7\n"));
  EXPECT_EQ(result.json["programs"][0]["regions"][0]["region_dtype"], "bfloat16");
}

TEST(CheckTest, SettingsSelectSilenceAndGrade) {
  rules::Settings settings;
  settings.ignore = {"export-*"};
  EXPECT_EQ(checked(package_of(dropped()), settings).verdict.outcome, report::Outcome::kClean);
  EXPECT_THAT(checked(package_of(dropped()), settings).text, HasSubstr("1 finding ignored by castscope.json"));
  settings = {};
  settings.select = {"cache-*"};
  EXPECT_THAT(checked(package_of(dropped()), settings).account.findings, IsEmpty());
  settings = {};
  settings.severity["export-drops-region"] = "info";
  EXPECT_EQ(checked(package_of(dropped()), settings).verdict.below.size(), 1u);
  settings = {};
  settings.per_path = {{"model.py", {"*"}}};
  EXPECT_EQ(checked(package_of(dropped()), settings).account.ignored_by_settings, 1u);
}

TEST(CheckTest, ACommentThatWasExportedSilences) {
  TestGraph graph = TestGraph().input("x", kF32).op("aten.mm.default", {"x", "x"}, "mm", kBF16, 7);
  graph.last()["metadata"]["stack_trace"] =
      "File \"/job/model.py\", line 7, in forward\n    y = x @ x  # castscope: ignore[export-drops-region]";
  const Checked result = checked(package_of(graph));
  EXPECT_EQ(result.verdict.outcome, report::Outcome::kClean);
  EXPECT_EQ(result.account.ignored_in_code, 1u);
}

TEST(CheckTest, OfALineThatIsStillThereItsCommentOfTodayCounts) {
  const TestFolder folder;
  TestGraph graph = TestGraph().input("x", kF32).op("aten.mm.default", {"x", "x"}, "mm", kBF16, 2);
  const auto silenced = [&](const std::string& today) {
    const std::string file = folder.file("net.py", "# net\n" + today + "\n");
    graph.last()["metadata"]["stack_trace"] = "File \"" + file + "\", line 2, in forward\n    y = x @ x";
    return checked(package_of(graph)).account.ignored_in_code;
  };
  EXPECT_EQ(silenced("    y = x @ x  # castscope: ignore -- it is wanted"), 1u);
  EXPECT_EQ(silenced("    y = x @ x"), 0u);
  EXPECT_EQ(silenced("    z = x @ x  # castscope: ignore"), 0u);  // the line has changed since
}

TEST(CheckTest, WhatCannotBeSeenIsToldAndFails) {
  Package package = package_of(TestGraph().input("x", kF32).op("aten.mm.default", {"x", "x"}, "mm", kF32));
  package.not_seen = {"something else is in it"};
  const Checked result = checked(package);
  EXPECT_EQ(result.verdict.outcome, report::Outcome::kIncomplete);
  EXPECT_THAT(result.text, HasSubstr("incomplete: something else is in it"));
  EXPECT_EQ(result.json["complete"], false);
  report::Gate gate;
  gate.allow_incomplete = true;
  EXPECT_EQ(checked(package, {}, gate).verdict.outcome, report::Outcome::kClean);
}

TEST(CheckTest, WhatRunDecompositionsLeftIsTold) {
  TestGraph graph = TestGraph().input("x", kF32).input("w", kF32);
  graph.op("aten._to_copy.default", {"w"}, "w16", kBF16).dtype_argument(kBF16);
  graph.last()["metadata"] = {
      {"stack_trace", "File \"<eval_with_key>.9\", line 5, in forward\n    linear = torch.ops.aten.linear.default(a)"},
      {"nn_module_stack", "L__self__,,model.Net"},
      {"from_node", R"j([{"name": "add", "target": "wrap_with_autocast", "pass_name": "ExportedProgram.module()"}])j"}};
  const Checked result = checked(package_of(graph, {"w"}));
  EXPECT_EQ(result.verdict.outcome, report::Outcome::kClean);
  EXPECT_THAT(result.account.notices, ElementsAre(StartsWith("run_decompositions made this program")));
  EXPECT_THAT(result.text, HasSubstr("regions that run_decompositions took apart: 1 operator of model.Net"));
  EXPECT_THAT(result.text, HasSubstr("float32 → bfloat16  no Python line, 1 of weights"));
  EXPECT_EQ(result.json["programs"][0]["taken_apart"]["node_count"], 1);
}

TEST(CheckTest, NamesFromTheFileCannotDriveTheTerminal) {
  TestGraph graph = dropped();
  graph.op("aten.\x1b[31mred.default", {"x"}, "red", kF32);
  Json json = program_json(graph);
  json["torch_version"] = "2.13\x1b[2J\nline";
  Package package;
  package.file = "model\x1b.pt2";
  auto program = read_program(json.dump(),
                              "mo\x1b"
                              "del");
  ASSERT_TRUE(program.ok());
  package.programs.push_back(*std::move(program));
  EXPECT_THAT(checked(package).text, Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace castscope::exported
