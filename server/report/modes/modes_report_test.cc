// Tests the report's section `modes`: the mode that an operator ran in, what was compiled, and what the job compared.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "server/report/modes/comparisons.h"
#include "server/report/modes/compilations.h"
#include "server/report/modes/modes.h"

namespace castscope::report {
namespace {

using lanes::FactKind;

store::RunData run_of(std::string comparison) {
  store::RunData data;
  store::Process process;
  process.attributes = {{"comparison", std::move(comparison)}};
  data.processes = {process};
  return data;
}

constexpr const char* kTable =
    R"({"format": "castscope-comparison-table/3", "compared_function": "Net", "same_precision": false,
  "modes": [{"mode": "script", "same_count": 1, "difference_count": 1, "follower_count": 0, "not_comparable_count": 1, "same_values": true,
             "max_abs_error": 0.5},
            {"mode": "export", "error_summary": "ValueError: no", "file": "net.py", "line": 3, "function": "forward"}],
  "operators": [{"shared_operator": "gelu", "module": "act", "file": "net.py", "line": 4, "function": "forward",
                 "by_mode": {"eager": {"verdict": "reference", "computed_in": "bfloat16"},
                             "script": {"verdict": "cause", "computed_in": "float32", "reason": "a list of its own"}}},
                {"shared_operator": "tanh", "module": "", "by_mode": {"script": {"verdict": "alone"},
                                      "eager": {"verdict": "reference", "computed_in": "bfloat16"}}}],
  "left_out_count": 7})";

TEST(Comparisons, AreReadAsTheJobToldThem) {
  const auto json = comparisons_json(run_of(kTable));
  EXPECT_EQ(json, nlohmann::ordered_json::parse(R"([{"compared_function": "Net", "same_precision": false,
    "modes": [{"mode": "script", "error": null, "same_count": 1, "difference_count": 1, "follower_count": 0, "not_comparable_count": 1,
               "same_values": true, "max_abs_error": 0.5},
              {"mode": "export", "error": {"error_summary": "ValueError: no",
                                           "location": {"file": "net.py", "line": 3, "function": "forward"}}}],
    "operators": [{"location": {"file": "net.py", "line": 4, "function": "forward"}, "shared_operator": "gelu", "module": "act",
                   "by_mode": {"eager": {"verdict": "reference", "computed_in": "bfloat16"},
                             "script": {"verdict": "cause", "computed_in": "float32", "reason": "a list of its own"}}},
                  {"location": {"file": null, "line": null, "function": null}, "shared_operator": "tanh", "module": "",
                   "by_mode": {"eager": {"verdict": "reference", "computed_in": "bfloat16"},
                             "script": {"verdict": "alone"}}}],
    "left_out_count": 7}])"));
}

TEST(Comparisons, WhatIsOfAnotherFormIsLeftOut) {
  for (const char* text : {"", "{", "[]", "7", R"({"format": "castscope-comparison-table/1"})"})
    EXPECT_TRUE(comparisons(run_of(text)).empty()) << text;
}

TEST(Comparisons, WhatIsOfAnotherTypeIsAsIfEmpty) {
  const auto all =
      comparisons(run_of(R"({"format": "castscope-comparison-table/3", "compared_function": 7, "same_precision": "yes",
    "modes": [3, {"mode": "jit"}, {"mode": "trace", "same_count": -1, "max_abs_error": "much"}],
    "operators": [null, {"shared_operator": [], "line": "x", "by_mode": {"eager": 1, "trace": {"verdict": "best", "computed_in": "float32"}}},
                  {"by_mode": [{}, {}]}]})"));
  ASSERT_EQ(all.size(), 1u);
  ASSERT_EQ(all[0].modes.size(), 1u);
  EXPECT_EQ(all[0].modes[0].mode, "trace");
  EXPECT_EQ(all[0].modes[0].same, 0u);
  EXPECT_FALSE(all[0].modes[0].max_error);
  ASSERT_EQ(all[0].rows.size(), 2u);
  for (const ComparedRow& row : all[0].rows) {
    ASSERT_EQ(row.cells.size(), 2u);
    EXPECT_EQ(row.cells[0].verdict, "");
    EXPECT_EQ(row.cells[1].verdict, "");
  }
}

store::RunData compiled(std::vector<std::pair<FactKind, std::string>> facts) {
  store::RunData data;
  for (auto& [kind, text] : facts) {
    store::Fact fact;
    fact.id = store::FactId(data.facts.size() + 1);
    fact.kind = kind;
    fact.text = std::move(text);
    data.facts.push_back(fact);
    store::FactCount count;
    count.fact = fact.id;
    count.times = 1;
    data.fact_counts.push_back(count);
  }
  return data;
}

TEST(Compilations, OfOneCodeAreOneWithItsGuards) {
  const auto all = compilations(compiled({{FactKind::kCompiled, "0/0 f (t.py:4)"},
                                          {FactKind::kCompiled, "1/0 g (t.py:9)"},
                                          {FactKind::kRecompiled, "0/1 f (t.py:4): a.size()[0] == 2"},
                                          {FactKind::kRecompiled, "0/2 f (t.py:4): a.size()[0] == 2"},
                                          {FactKind::kRecompiled, "0/3 f (t.py:4): x (y): z"},
                                          {FactKind::kBackward, "2/0 h (t.py:9)"}}));
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].code, "f (t.py:4)");
  EXPECT_EQ(all[0].times, 4u);
  ASSERT_EQ(all[0].again.size(), 2u);
  EXPECT_EQ(all[0].again[0].guard, "a.size()[0] == 2");
  EXPECT_EQ(all[0].again[0].times, 2u);
  EXPECT_EQ(all[0].again[1].guard, "x (y): z");
  EXPECT_EQ(all[1].code, "g (t.py:9)");
  EXPECT_TRUE(all[1].again.empty());
}

// Adds a use at one line, in a frame of a graph that torch.fx made into code.
store::OperatorUseId use(store::RunData& data, const std::string& graph, std::uint16_t flags = 0) {
  store::Stack stack;
  stack.frames = {{"/home/user/net.py", "forward", 4}};
  if (!graph.empty()) stack.frames.push_back({graph, "forward", 0});
  store::OperatorUse use;
  use.id = store::OperatorUseId(data.operator_uses.size() + 1);
  use.stack = data.stacks.push_back(stack);
  use.flags = flags;
  return data.operator_uses.push_back(use);
}

TEST(ModeOf, IsToldByTheInterpreterOrTheGraph) {
  store::RunData data;
  const std::vector<std::pair<store::OperatorUseId, rules::Mode>> expected = {
      {use(data, ""), rules::Mode::kEager},
      {use(data, lanes::kGraphModule), rules::Mode::kEager},
      {use(data, lanes::kExportedProgram), rules::Mode::kExport},
      {use(data, lanes::kCompiledGraph), rules::Mode::kCompile},
      {use(data, "", lanes::kUseCompiled), rules::Mode::kCompile},
      {use(data, "", lanes::kUseScript), rules::Mode::kScript},
      {use(data, "", lanes::kUseScript | lanes::kUseTraced), rules::Mode::kTrace}};
  for (const auto& [id, mode] : expected) EXPECT_EQ(rules::mode_of(data, data.operator_uses[id]), mode) << id;
  EXPECT_EQ(data.user_location(data.operator_uses[store::OperatorUseId(3)].stack)->file, "/home/user/net.py");
  data.torch_folders = {"/venv/torch"};
  data.stacks[store::StackId(2)].frames.push_back(
      {"/venv/torch/_functorch/_aot_autograd/runtime_wrappers.py", "wrapper", 1});
  EXPECT_EQ(rules::mode_of(data, data.operator_uses[store::OperatorUseId(2)]), rules::Mode::kCompile);
}

TEST(ModeOf, LeavesOutWhatIsRunToBeTraced) {
  store::RunData data;
  const store::OperatorUseId id = use(data, "/venv/torch/jit/_trace.py", lanes::kUseTracing);
  EXPECT_EQ(rules::mode_of(data, data.operator_uses[id]), std::nullopt);
}

TEST(ModeRows, MatrixWorkHasOneRowWhateverItIsCalledInAGraph) {
  store::RunData data;
  const auto called = [&](const std::string& op, const std::string& graph, std::uint8_t dtype,
                          std::uint16_t flags = 0) {
    const store::OperatorUseId id = use(data, graph, flags);
    data.operator_uses[id].op = op;
    data.operator_uses[id].computed = dtype;
    store::UseCount count;
    count.use = id;
    count.times = 1;
    data.use_counts.push_back(count);
  };
  constexpr std::uint8_t kFloat = 6, kBFloat16 = 15;
  called("aten::conv1d", "", kBFloat16);
  called("aten::_convolution", "", kBFloat16, lanes::kUseScript | lanes::kUseTraced);
  called("aten::convolution", lanes::kExportedProgram, kFloat);
  called("aten::relu", "", kBFloat16);
  const auto rows = mode_rows(data);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].work, "conv1d");
  EXPECT_EQ(rows[0].computed[static_cast<std::size_t>(rules::Mode::kTrace)], std::set<std::uint8_t>{kBFloat16});
  EXPECT_EQ(rows[0].computed[static_cast<std::size_t>(rules::Mode::kExport)], std::set<std::uint8_t>{kFloat});
  EXPECT_TRUE(rows[0].differs());
}

}  // namespace
}  // namespace castscope::report
