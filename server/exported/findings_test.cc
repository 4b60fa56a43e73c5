#include "server/exported/findings.h"

#include <gmock/gmock.h>

#include "server/exported/testing/test_program.h"
#include "server/rules/rules.h"
#include "server/rules/testing/evidence_keys.h"

namespace castscope::exported {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;

// gtest owns it.
auto& g_evidence = static_cast<rules::EvidenceKeys&>(
    *::testing::AddGlobalTestEnvironment(new rules::EvidenceKeys("of_programs.json")));

std::vector<store::Finding> findings(const TestGraph& graph, const std::string& name = "model") {
  Program program = program_of(graph);
  program.name = name;
  std::vector<store::Finding> found = findings_of(program, walk(program));
  g_evidence.hold(found);
  return found;
}

TEST(FindingsTest, ALostRegionIsOneFindingAtItsFirstOperator) {
  const auto found = findings(dropped()
                                  .op("aten.linear.default", {"add", "w"}, "second", kBF16, 30)
                                  .op("aten.matmul.default", {"second", "w"}, "third", kBF16, 40));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].rule, "export-drops-region");
  EXPECT_EQ(found[0].severity, "error");
  EXPECT_EQ(found[0].title,
            "this program was exported inside an autocast region, which torch.export dropped: 4 operators recorded in "
            "bfloat16 run in float32");
  ASSERT_TRUE(found[0].location);
  EXPECT_EQ(found[0].location->line, 12);
  EXPECT_EQ(found[0].location->function, "Net.forward");
  EXPECT_THAT(found[0].related, IsEmpty());
  EXPECT_THAT(found[0].evidence_text, Contains(Pair("operator_names", "linear ×2, matmul")));
  EXPECT_THAT(found[0].evidence_text, Contains(Pair("follower_names", "gelu")));
  EXPECT_THAT(found[0].evidence_number, ElementsAre(Pair("node_count", 3), Pair("follower_count", 1)));
}

TEST(FindingsTest, OfSeveralProgramsInAFileTheOneIsNamed) {
  const auto found = findings(dropped().check("linear", kBF16, 20), "decoder");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].evidence_text, Contains(Pair("program", "decoder")));
  EXPECT_THAT(findings(dropped())[0].evidence_text, Not(Contains(Pair("program", "model"))));
}

TEST(FindingsTest, EachFurtherFunctionHasItsFirstLine) {
  TestGraph graph = dropped();
  graph.op("aten.linear.default", {"add", "w"}, "second", kBF16, 30);
  graph.last()["metadata"]["nn_module_stack"] = "L__self__,,model.Net;L__self__b,b,model.Block";
  graph.op("aten.linear.default", {"add", "w"}, "third", kBF16, 31);
  graph.last()["metadata"]["nn_module_stack"] = "L__self__,,model.Net;L__self__b,b,model.Block";
  const auto found = findings(graph);
  ASSERT_EQ(found.size(), 1u);
  ASSERT_EQ(found[0].related.size(), 1u);
  EXPECT_EQ(found[0].related[0].line, 30);
  EXPECT_EQ(found[0].related[0].function, "Block.forward");
}

TEST(FindingsTest, WhereALossStopsTheProgramIsPartOfIt) {
  const auto found = findings(dropped().check("linear", kBF16, 20));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].title,
            "this program was exported inside an autocast region, which torch.export dropped: 2 operators recorded in "
            "bfloat16 run in float32, and the program stops at model.py:20, where it checks for bfloat16 and gets "
            "float32");
  ASSERT_EQ(found[0].related.size(), 1u);
  EXPECT_EQ(found[0].related[0].line, 20);
}

TEST(FindingsTest, ACheckThatARegionFails) {
  const auto within = TestGraph().input("x", kF32).op("aten.mm.default", {"x", "x"}, "mm", kF32).gives("mm");
  const auto found = findings(TestGraph()
                                  .input("x", kF32)
                                  .region("cpu", kBF16, true, within, {"x"}, "out", kF32)
                                  .check("out", kF32, 15)
                                  .check("out", kF32, 16));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].rule, "export-check-fails");
  EXPECT_EQ(found[0].location->line, 15);
  EXPECT_EQ(found[0].title,
            "the exported program stops here: it checks that a tensor is float32, as was recorded, and its autocast "
            "region makes it bfloat16");
}

// The program was exported in a region and decomposed by run_decompositions: nothing else shows the region.
TEST(FindingsTest, AProductOfTwoDtypesIsAFindingWhateverLedToIt) {
  const auto found = findings(TestGraph()
                                  .input("x", kF32)
                                  .op("aten._to_copy.default", {"x"}, "half", kF16)
                                  .dtype_argument(kF16)
                                  .op("aten.matmul.default", {"x", "half"}, "product", kF32, 15));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].rule, "export-check-fails");
  EXPECT_EQ(found[0].location->line, 15);
  EXPECT_EQ(found[0].title, "the exported program stops here: matmul gets float32 and float16");
  EXPECT_THAT(found[0].fix, ::testing::StartsWith("Convert one of the two"));
}

TEST(FindingsTest, ControlsAreSilent) {
  const auto half = [] {
    return TestGraph().input("x", kF32).op("aten.mm.default", {"x", "x"}, "mm", kBF16).gives("mm");
  };
  EXPECT_THAT(findings(TestGraph().input("x", kF32).region("cpu", kBF16, true, half(), {"x"}, "out", kBF16)),
              IsEmpty());
  EXPECT_THAT(findings(TestGraph().input("x", kF32).op("aten.mm.default", {"x", "x"}, "mm", kF32)), IsEmpty());
  EXPECT_THAT(findings(TestGraph().input("x", kBF16).op("aten.mm.default", {"x", "x"}, "mm", kBF16)), IsEmpty());
  EXPECT_THAT(findings(TestGraph()), IsEmpty());
}

TEST(FindingsTest, ItsRulesCanBeExplained) {
  for (const char* name : {"export-drops-region", "export-check-fails"}) {
    const rules::Rule* const rule = rules::find_rule(name);
    ASSERT_NE(rule, nullptr) << name;
    EXPECT_EQ(rule->severity, "error");
  }
}

TEST(FindingsTest, NamesAreCountedAndCut) {
  TestGraph graph;
  graph.input("x", kF32);
  for (int i = 0; i < 12; ++i)
    graph.op("aten.op" + std::to_string(i) + ".default", {"x"}, "y" + std::to_string(i), kF32);
  const Program program = program_of(graph);
  std::vector<const Node*> nodes;
  for (const Node& node : program.graph.nodes) nodes.push_back(&node);
  nodes.push_back(nodes.front());
  EXPECT_EQ(names_and_counts(nodes), "op0 ×2, op1, op2, op3, op4, op5, op6, op7, op8, op9, and 2 more");
}

}  // namespace
}  // namespace castscope::exported
