#include "server/graph/folding.h"

#include <gtest/gtest.h>

#include "absl/strings/str_join.h"

#include <deque>

namespace castscope::graph {
namespace {

constexpr std::uint8_t kF32 = rules::kFloat, kBf16 = rules::kBrain;

class FoldingTest : public ::testing::Test {
 protected:
  // Adds an operator in this module of Net ("" = the model itself), which takes the value of the operator before it.
  void add(const std::string& path, const std::string& op, std::uint8_t computed = kBf16, std::int64_t line = 10) {
    modules_.push_back(
        {.path = path, .type = path.find("layers") == 0 ? "Layer" : "Linear", .root_type = "Net", .root_number = 1});
    Node node{.op = op,
              .node = "",
              .module = &modules_.back(),
              .computed = computed,
              .result = computed,
              .times = 1,
              .at = store::CodeLocation{.file = "model.py", .function = "forward", .line = line},
              .given = {},
              .entries = {}};
    if (computed == kBf16)
      node.entries.push_back({.argument = "weight", .role = lanes::Role::kWeight, .from = kF32, .to = kBf16});
    part_.nodes.push_back(node);
    const std::size_t n = part_.nodes.size();
    if (n > 1) part_.edges.push_back({.from = n - 2, .to = n - 1, .dtype = part_.nodes[n - 2].result, .argument = ""});
  }
  void add_layers(int layers, int operators) {
    for (int layer = 0; layer < layers; ++layer)
      for (int i = 0; i < operators; ++i)
        add("layers." + std::to_string(layer), "op" + std::to_string(i), kBf16, 10 + i);
  }
  std::vector<std::string> boxes(const View& view) const {
    std::vector<std::string> names;
    for (const Item& item : view.items) names.push_back(item.folded() ? item.module : part_.nodes[item.node].op);
    return names;
  }

  std::deque<store::Module> modules_;
  Part part_;
};

using Names = std::vector<std::string>;

TEST_F(FoldingTest, FewOperatorsAreAllShown) {
  add("fc1", "linear");
  add("", "relu");
  add("fc2", "linear");
  const auto views = fold(part_);
  ASSERT_EQ(views.size(), 1u);
  EXPECT_EQ(boxes(views[0]), (Names{"linear", "relu", "linear"}));
  EXPECT_EQ(views[0].bundles.size(), 2u);
  EXPECT_EQ(views[0].items[0].casts, 1u);
}

TEST_F(FoldingTest, LayersAreFoldedAndAlikeOnesShareADrawing) {
  add("embedding", "embedding", kF32);
  add_layers(6, 20);
  add("head", "linear");
  const auto views = fold(part_);
  ASSERT_EQ(views.size(), 2u);
  EXPECT_EQ(boxes(views[0]), (Names{"embedding", "Net.layers.0", "Net.layers.1", "Net.layers.2", "Net.layers.3",
                                    "Net.layers.4", "Net.layers.5", "linear"}));
  EXPECT_EQ(views[0].bundles.size(), 7u);
  EXPECT_EQ(views[0].items[1].operators, 20u);
  EXPECT_EQ(views[0].items[1].casts, 20u);
  EXPECT_EQ(views[0].items[1].module_type, "Layer");
  for (int i = 1; i <= 6; ++i) EXPECT_EQ(views[0].items[i].view, 1u);
  EXPECT_EQ(views[1].module, "Net.layers.0");
  EXPECT_EQ(views[1].items.size(), 20u);
  EXPECT_EQ(views[1].bundles.size(), 19u);
}

// The first layer takes the model's input and the others take the value of the layer before; cast alike, they look
// alike.
TEST_F(FoldingTest, ACastFromOutsideIsToldInside) {
  add_layers(6, 20);
  for (int layer = 0; layer < 6; ++layer) {
    if (layer == 0) {
      part_.nodes[0].entries.push_back({.argument = "input", .role = lanes::Role::kInput, .from = kF32, .to = kBf16});
    } else {
      Edge& edge = part_.edges[static_cast<std::size_t>(20 * layer - 1)];
      edge.dtype = kF32;
      edge.cast_to = kBf16;
      edge.argument = "input";
    }
  }
  const auto views = fold(part_);
  ASSERT_EQ(views.size(), 2u);
  EXPECT_TRUE(views[1].items[0].from_outside.empty());  // the first layer has no line from outside
  part_.nodes[0].computed = kF32;
  const auto others = fold(part_);
  ASSERT_EQ(others.size(), 3u);
  EXPECT_EQ(others[2].module, "Net.layers.1");
  EXPECT_EQ(others[2].items[0].from_outside.size(), 1u);
}

// A layer that computes in another dtype is not alike.
TEST_F(FoldingTest, AnIslandHasADrawingOfItsOwn) {
  add_layers(6, 20);
  part_.nodes[45].computed = kF32;
  const auto views = fold(part_);
  ASSERT_EQ(views.size(), 3u);
  EXPECT_EQ(views[0].items[2].computed, (std::set<std::uint8_t>{kF32, kBf16}));
  EXPECT_NE(views[0].items[2].view, views[0].items[0].view);
}

TEST_F(FoldingTest, BlocksThatAreDeepInsideAreFoundByLevels) {
  for (int layer = 0; layer < 6; ++layer)
    for (int i = 0; i < 20; ++i) add("encoder.layers." + std::to_string(layer), "op" + std::to_string(i));
  add("", "mse_loss", kF32);
  const auto views = fold(part_);
  EXPECT_EQ(views[0].items.size(), 7u);
  EXPECT_EQ(views[0].items[0].module, "Net.encoder.layers.0");
}

TEST_F(FoldingTest, MoreModulesThanAPageTakesAreNotAllDrawn) {
  for (int layer = 0; layer < 30; ++layer)
    for (int i = 0; i < 30; ++i)
      add("layers." + std::to_string(layer), "op" + std::to_string(i), kBf16, 100 * layer + i);
  const auto views = fold(part_);
  std::size_t drawn = 0, undrawn = 0;
  for (const View& view : views) drawn += view.items.size();
  for (const Item& item : views[0].items) undrawn += item.view == kNoView;
  EXPECT_LE(drawn, Limits().in_all);
  EXPECT_GT(undrawn, 0u);
}

TEST_F(FoldingTest, OperatorsWithoutModulesAreCutOff) {
  for (int i = 0; i < 400; ++i) {
    add("", "op");
    part_.nodes.back().module = nullptr;
  }
  const auto views = fold(part_);
  ASSERT_EQ(views.size(), 1u);
  EXPECT_EQ(views[0].items.size(), Limits().in_one);
  EXPECT_EQ(views[0].left_out, 400 - Limits().in_one);
}

// Whoever follows a path goes one call deeper with each of its steps.
TEST_F(FoldingTest, APathWithoutEndHasAnEnd) {
  std::string path = "a";
  for (int i = 0; i < 200'000; ++i) path += ".a";
  const std::vector<std::string> steps = module_steps({.path = path, .type = "", .root_type = "Net", .root_number = 1});
  EXPECT_EQ(steps.size(), kMostModuleSteps);
  EXPECT_EQ(absl::StrJoin(steps, "."), "Net." + path);
  add(path, "op");
  EXPECT_FALSE(fold(part_).empty());
}

TEST_F(FoldingTest, ListsAndTheirElementsAreOneStep) {
  const store::Module module{.path = "encoder.layers.0.1.mlp", .type = "", .root_type = "Net", .root_number = 2};
  EXPECT_EQ(module_steps(module), (Names{"Net#2", "encoder", "layers.0.1", "mlp"}));
}

}  // namespace
}  // namespace castscope::graph
