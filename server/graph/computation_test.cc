#include "server/graph/computation.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <functional>

#include "server/store/testing/test_run.h"
#include "server/store/write/run_store.h"

namespace castscope::graph {
namespace {

using lanes::Phase;
using lanes::Role;
using store::kBFloat16;
using store::kFloat32;
using store::operand;
using store::TestRun;
using store::TestUse;

class ComputationTest : public ::testing::Test {
 protected:
  ComputationTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "castscope-graph-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~ComputationTest() override { std::filesystem::remove_all(folder_); }

  const std::vector<Part>& parts(const std::function<void(TestRun&)>& act) {
    auto store = store::RunStore::create((folder_ / "run.castscope").string(), {});
    EXPECT_TRUE(store.ok()) << store.status().message();
    TestRun run(**store);
    run.region("train.py", 5);
    act(run);
    run.end();
    data_ = *(*store)->read();
    parts_ = parts_of(data_);
    return parts_;
  }
  // linear in `module`, computed in bfloat16 from a float32 input that may come from an operator.
  static TestUse linear(const std::string& module, std::int64_t line, std::uint8_t input = kFloat32) {
    return {.op = "aten::linear",
            .line = line,
            .operands = {operand(input), operand(kFloat32, Role::kWeight), operand(kFloat32, Role::kWeight)},
            .computed = kBFloat16,
            .flags = lanes::kUseEligible | lanes::kUseGradMode,
            .module = module};
  }

  std::filesystem::path folder_;
  store::RunData data_;
  std::vector<Part> parts_;
};

TEST_F(ComputationTest, NothingWithoutDeepSteps) {
  EXPECT_TRUE(parts([](TestRun& run) { run.use(linear("fc", 10)); }).empty());
}

TEST_F(ComputationTest, CastsOfWeightsAreWithTheOperator) {
  const auto& all = parts([](TestRun& run) {
    const auto weight = run.weight("train.py", 10, "fc");
    const auto use = run.use(linear("fc", 10));
    run.deep().enter(1).cast(weight, 0x100, true).hit(weight, 0x100).called(use, 2).exit().shallow();
  });
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].kind, Part::Kind::kForward);
  ASSERT_EQ(all[0].nodes.size(), 1u);
  const Node& node = all[0].nodes[0];
  EXPECT_EQ(node.op, "linear");
  EXPECT_EQ(node.module->path, "fc");
  EXPECT_EQ(node.at->line, 10);
  EXPECT_EQ(node.computed, kBFloat16);
  EXPECT_EQ(node.times, 2u);
  ASSERT_EQ(node.entries.size(), 1u);
  EXPECT_EQ(node.entries[0].argument, "weight");
  EXPECT_EQ(node.entries[0].role, Role::kWeight);
  EXPECT_EQ(node.entries[0].from, kFloat32);
  EXPECT_EQ(node.entries[0].to, kBFloat16);
  EXPECT_EQ(node.entries[0].casts, 1u);
  EXPECT_EQ(node.entries[0].hits, 1u);
}

TEST_F(ComputationTest, ACastOfAnOperatorsResultIsOnTheEdge) {
  const auto& all = parts([](TestRun& run) {
    const auto input = run.input("train.py", 11, "head");
    const auto softmax = run.use({.op = "aten::softmax.int",
                                  .line = 10,
                                  .operands = {operand(kBFloat16)},
                                  .computed = kFloat32,
                                  .flags = lanes::kUseEligible | lanes::kUseGradMode,
                                  .module = "attention"});
    const auto head = run.use(linear("head", 11));
    const auto flow = run.flow(softmax, head, 0, kBFloat16);
    run.deep().enter(1).called(softmax).cast(input, 0x100).called(head).flowed(flow).exit().shallow();
  });
  ASSERT_EQ(all.size(), 1u);
  ASSERT_EQ(all[0].edges.size(), 1u);
  const Edge& edge = all[0].edges[0];
  EXPECT_EQ(all[0].nodes[edge.from].op, "softmax");
  EXPECT_EQ(all[0].nodes[edge.to].op, "linear");
  EXPECT_EQ(edge.dtype, kFloat32);
  EXPECT_EQ(edge.cast_to, kBFloat16);
  EXPECT_EQ(edge.argument, "input");
  EXPECT_EQ(all[0].nodes[edge.to].edge_casts, 1u);
  for (const EntryCast& entry : all[0].nodes[edge.to].entries) EXPECT_NE(entry.argument, "input");
}

// Modules of a list are nodes of their own, and calls of one module from several places are one node.
TEST_F(ComputationTest, ANodeForEachModule) {
  const auto& all = parts([](TestRun& run) {
    run.deep().enter(1);
    for (const char* module : {"layers.0", "layers.1"}) run.called(run.use(linear(module, 10)));
    TestUse again = linear("layers.0", 10);
    const std::string torch = "/venv/lib/python3.11/site-packages/torch/nn/modules/";
    again.stack = run.stack({{torch + "linear.py", "Linear.forward", 134},
                             {torch + "module.py", "Module._call_impl", 1790},
                             TestRun::own_frame("evaluate", 77)});
    run.called(run.use(again)).exit().shallow();
  });
  ASSERT_EQ(all.size(), 1u);
  ASSERT_EQ(all[0].nodes.size(), 2u);
  EXPECT_EQ(all[0].nodes[0].times, 2u);
}

TEST_F(ComputationTest, BackwardAndInferenceAreParts) {
  const auto& all = parts([](TestRun& run) {
    TestUse backward = {.op = "aten::mm",
                        .line = 12,
                        .operands = {operand(kBFloat16)},
                        .phase = Phase::kBackward,
                        .node = "MmBackward0"};
    TestUse inference = linear("fc", 20);
    inference.flags = lanes::kUseEligible;
    const auto a = run.use(linear("fc", 10)), b = run.use(backward), c = run.use(inference);
    const auto across = run.flow(a, b);
    run.deep().enter(1).called(a).called(b).flowed(across).called(c).exit().shallow();
  });
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[1].kind, Part::Kind::kBackward);
  EXPECT_EQ(all[1].nodes[0].node, "MmBackward0");
  EXPECT_EQ(all[2].kind, Part::Kind::kWithoutGradients);
  for (const Part& part : all) EXPECT_TRUE(part.edges.empty());
}

// A loss after the region belongs to the step; the optimizer's operators do not.
TEST_F(ComputationTest, OutsideARegionWhatIsConnected) {
  const auto& all = parts([](TestRun& run) {
    const auto use = run.use(linear("fc", 10));
    TestUse loss = {.op = "aten::mse_loss",
                    .line = 14,
                    .operands = {operand(kFloat32)},
                    .flags = lanes::kUseGradMode,
                    .phase = Phase::kOther,
                    .outside = true};
    TestUse optimizer = {.op = "aten::add_.Tensor",
                         .line = 16,
                         .operands = {operand(kFloat32)},
                         .phase = Phase::kOther,
                         .outside = true};
    const auto mse = run.use(loss), add = run.use(optimizer);
    const auto flow = run.flow(use, mse);
    run.deep().enter(1).called(use).exit().called(mse).flowed(flow).called(add).shallow();
  });
  ASSERT_EQ(all.size(), 1u);
  ASSERT_EQ(all[0].nodes.size(), 2u);
  EXPECT_EQ(all[0].nodes[1].op, "mse_loss");
}

// A module of PyTorch's own calls an operator twice: the user's line is the same, PyTorch's is not.
TEST_F(ComputationTest, ANodeForEachCallInAModule) {
  const auto& all = parts([](TestRun& run) {
    const std::string torch = "/venv/lib/python3.11/site-packages/torch/nn/modules/";
    run.deep().enter(1);
    for (const int line : {700, 710}) {
      TestUse projection = linear("self_attn", 10);
      projection.stack = run.stack({{torch + "activation.py", "MultiheadAttention.forward", line},
                                    {torch + "module.py", "Module._call_impl", 1790},
                                    TestRun::own_frame("train", 10)});
      run.called(run.use(projection));
    }
    run.exit().shallow();
  });
  EXPECT_EQ(all.at(0).nodes.size(), 2u);
}

// In a loop over time the value comes back to the operator that made it.
TEST_F(ComputationTest, NoEdgeFromANodeToItself) {
  const auto& all = parts([](TestRun& run) {
    const auto use = run.use(linear("cell", 10));
    const auto flow = run.flow(use, use);
    run.deep().enter(1).called(use, 3).flowed(flow, 2).exit().shallow();
  });
  EXPECT_TRUE(all[0].edges.empty());
}

}  // namespace
}  // namespace castscope::graph
