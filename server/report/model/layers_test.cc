#include "server/report/model/layers.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "server/report/forms/csv.h"
#include "server/report/forms/json.h"
#include "server/report/forms/markdown.h"
#include "server/report/html/page.h"
#include "server/report/testing/test_report.h"

namespace castscope::report {
namespace {

using lanes::Role;
using store::entering;
using store::kBFloat16;
using store::kFloat32;
using store::operand;
using store::TestRun;
using store::TestUse;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

TestUse linear(const std::string& module, std::uint8_t given = kFloat32) {
  return {.op = "aten::linear",
          .line = 12,
          .operands = {entering(kBFloat16, operand(given)), entering(kBFloat16, operand(kFloat32, Role::kWeight))},
          .computed = kBFloat16,
          .flags = lanes::kUseEligible,
          .module = module,
          .names = {"input", "weight"}};
}
TestUse softmax() {
  return {.op = "aten::softmax.int",
          .line = 13,
          .operands = {operand(kBFloat16)},
          .computed = kBFloat16,
          .flags = lanes::kUseElsewhere,
          .module = "sm",
          .names = {"self"}};
}

class LayersTest : public RecordedTest {
 protected:
  // Two linears in a loop and a softmax, in the first of two steps.
  store::RunData run() {
    return recorded([](TestRun& run) {
      const auto region = run.region("train.py", 5);
      const auto first = run.use(linear("blocks.0")), second = run.use(linear("blocks.1")), last = run.use(softmax());
      run.step().deep().enter(region).called(first, 2).called(second).called(last).exit().shallow();
      run.step().enter(region).exit();
    });
  }
};

TEST_F(LayersTest, EachModuleHasItsDtypes) {
  const store::RunData data = run();
  const Layers layers = layers_of(data);
  EXPECT_EQ(layers.deep_steps, 1u);
  ASSERT_EQ(layers.all.size(), 3u);
  EXPECT_EQ(module_text(data, layers.all[0]), "blocks.0");
  EXPECT_EQ(layers.all[0].calls, 2u);
  EXPECT_EQ(layers.all[0].arguments[0].name, "input");
  EXPECT_EQ(layers.all[0].arguments[0].entered, kBFloat16);
  EXPECT_EQ(given_text(layers.all[0]), "float32");
  EXPECT_EQ(why_text(layers.all[0]), "");
  EXPECT_EQ(given_text(layers.all[2]), "bfloat16");
  EXPECT_EQ(why_text(layers.all[2]), rules::words(rules::NotCast::kNotListed, kBFloat16));
  EXPECT_EQ(elsewhere_text(layers.all[2]), "float32 on cuda, xpu and mps");
}

TEST_F(LayersTest, ModulesInALoopAreOneForPeople) {
  const store::RunData data = run();
  const std::vector<Layer> groups = in_groups(data, layers_of(data).all);
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(module_text(data, groups[0]), "blocks.0 and 1 more");
  EXPECT_EQ(groups[0].calls, 3u);
}

TEST_F(LayersTest, ModulesThatDidTheSameEquallyOftenAreARowOfTheReport) {
  const store::RunData data = recorded([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto first = run.use(linear("blocks.0")), second = run.use(linear("blocks.1"));
    const auto third = run.use(linear("blocks.2")), alone = run.use(linear(""));
    run.step().deep().enter(region).called(first, 2).called(second).called(third, 2).called(alone, 2).exit().shallow();
  });
  const auto json = to_json(data);
  std::vector<std::pair<std::vector<std::string>, int>> rows;
  for (const auto& row : json["layers"]) {
    std::vector<std::string> modules;
    for (const std::size_t index : row["module_indexes"]) modules.push_back(json["modules"][index]["module"]);
    rows.emplace_back(modules, row["calls"]);
  }
  EXPECT_THAT(rows, UnorderedElementsAre(Pair(ElementsAre("blocks.0", "blocks.2"), 4), Pair(ElementsAre("blocks.1"), 1),
                                         Pair(IsEmpty(), 2)));
}

TEST_F(LayersTest, ArgumentsThatDifferAreTold) {
  const store::RunData data = recorded([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto use = run.use(linear("fc", kBFloat16));
    run.step().deep().enter(region).called(use).exit().shallow();
  });
  const Layers layers = layers_of(data);
  EXPECT_EQ(given_text(layers.all.at(0)), "input bfloat16, weight float32");
  EXPECT_EQ(why_text(layers.all.at(0)), "input: already in bfloat16");
}

TEST_F(LayersTest, WhatComputesInWhichDtypeIsALine) {
  const store::RunData data = run();
  EXPECT_EQ(computed_line(data, layers_of(data)), "in bfloat16: linear, softmax");
  EXPECT_EQ(looked_at_text(layers_of(data), {.steps = 2, .deep_steps = 1}), "1 of 2 steps");
  EXPECT_EQ(what_was_looked_at(layers_of(data), {.steps = 2, .deep_steps = 1}),
            "the 1 of 2 steps in which every operator was looked at");
  EXPECT_EQ(computed_line(store::RunData(), Layers()), "");
}

// A region with autocast off holds operators in float32, and its readers look for those; operators that fill weights
// are not layers.
TEST_F(LayersTest, TheLineHasDisabledRegionsAndNoUpkeep) {
  const store::RunData data = recorded([](TestRun& run) {
    const auto outer = run.region("train.py", 5);
    store::RegionInfo off = TestRun::default_region();
    off.enabled = false;
    off.parent = outer;
    const TestUse fill{
        .op = "aten::uniform_", .operands = {operand(kFloat32, Role::kWeight)}, .flags = lanes::kUseWrites};
    const TestUse make{.op = "aten::randn", .computed = kFloat32};
    const auto first = run.use(linear("a")), second = run.use(fill), third = run.use(make);
    const auto inner = run.region("train.py", 7, off);
    const auto fourth = run.use({.op = "aten::logsumexp", .operands = {operand(kFloat32)}});
    run.step().deep().enter(outer).called(second).called(third).called(first);
    run.enter(inner).called(fourth).exit().exit().shallow();
  });
  EXPECT_EQ(computed_line(data, layers_of(data)), "in bfloat16: linear; in float32: logsumexp");
}

TEST_F(LayersTest, WhatRaisedHasComputedNothing) {
  const store::RunData data = recorded([](TestRun& run) {
    const auto region = run.region("train.py", 5);
    const auto raised = run.use({.op = "aten::binary_cross_entropy", .operands = {operand(kFloat32)}, .raised = true});
    run.step().deep().enter(region).called(raised).exit().shallow();
  });
  EXPECT_TRUE(layers_of(data).all.empty());
  EXPECT_EQ(computed_line(data, layers_of(data)), "");
}

TEST_F(LayersTest, AllFormsHaveThem) {
  const store::RunData data = run();
  const Model model = model_of(data);
  const auto json = to_json(model)["layers"];
  EXPECT_EQ(to_json(model)["totals"]["deep_step_count"], 1);
  const auto found = std::ranges::find(json, "aten::softmax.int", [](const auto& row) { return row["operator"]; });
  ASSERT_NE(found, json.end());
  const auto& softmax = *found;
  EXPECT_EQ(softmax["location"]["line"], 13);
  EXPECT_EQ(softmax["computed_in"], "bfloat16");
  EXPECT_EQ(softmax["result_dtype"], "bfloat16");
  EXPECT_EQ(softmax["arguments"][0]["why_not_cast"], "not_listed");
  EXPECT_EQ(softmax["elsewhere"]["cuda"], "float32");
  EXPECT_THAT(html_text(model), HasSubstr("float32 on cuda, xpu and mps"));
  EXPECT_THAT(markdown_text(model), HasSubstr("| `train.py:13` | sm | softmax | bfloat16 | bfloat16 | bfloat16 | 1 |"));
  EXPECT_THAT(layers_csv_text(model), HasSubstr("train.py,13,train,Net,sm,Linear,aten::softmax.int,,forward,cpu,1,self,"
                                                "activation,bfloat16,bfloat16,not_listed,bfloat16,bfloat16,1,"));
}

}  // namespace
}  // namespace castscope::report
