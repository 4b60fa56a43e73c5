#include "agent/compile/graph_casts.h"

#include <gtest/gtest.h>

namespace castscope::compile {
namespace {

constexpr std::uint8_t kFrom = 6, kTo = 15;  // float32, bfloat16

// h = F.gelu(self.l(x)), with gelu decomposed and its result used by the product of the next line.
constexpr std::string_view kGraph =
    R"(def forward(self, x: "f32[2, 8][8, 1]cpu", w: "f32[8, 8][8, 1]cpu", v: "f32[8, 8][8, 1]cpu"):
    # File: t.py:13 in forward, code: h = F.gelu(self.l(x))
    c1: "bf16[8, 8][8, 1]cpu" = torch.ops.prims.convert_element_type.default(w, torch.bfloat16);  w = None
    c2: "bf16[2, 8][8, 1]cpu" = torch.ops.prims.convert_element_type.default(x, torch.bfloat16)
    permute: "bf16[8, 8][1, 8]cpu" = torch.ops.aten.permute.default(c1, [1, 0]);  c1 = None
    mm: "bf16[2, 8][8, 1]cpu" = torch.ops.aten.mm.default(c2, permute);  permute = None
    c3: "f32[2, 8][8, 1]cpu" = torch.ops.prims.convert_element_type.default(mm, torch.float32);  mm = None
    mul: "f32[2, 8][8, 1]cpu" = torch.ops.aten.mul.Tensor(c3, 0.5);  c3 = None
    c4: "bf16[2, 8][8, 1]cpu" = torch.ops.prims.convert_element_type.default(mul, torch.bfloat16);  mul = None
    # File: t.py:14 in forward, code: return h @ v + x.to(torch.bfloat16)
    c5: "bf16[8, 8][8, 1]cpu" = torch.ops.prims.convert_element_type.default(v, torch.bfloat16);  v = None
    mm_1: "bf16[2, 8][8, 1]cpu" = torch.ops.aten.mm.default(c4, c5);  c4 = c5 = None
    c6: "bf16[2, 8][8, 1]cpu" = torch.ops.prims.convert_element_type.default(x, torch.bfloat16);  x = None
    add: "bf16[2, 8][8, 1]cpu" = torch.ops.aten.add.Tensor(mm_1, c6);  mm_1 = c6 = None
    return (add,))";

TracedCast autocast(std::string op, std::uint32_t line) {
  return {false, kFrom, kTo, std::move(op), {{"linear.py", 134}, {"t.py", line}}};
}
TracedCast user(std::uint32_t line) { return {true, kFrom, kTo, "", {{"t.py", line}}}; }

std::string whose(std::vector<TracedCast> traced) {
  const auto graph = read_graph(kGraph);
  std::string text;
  for (const GraphCast& cast : casts_of(graph, traced))
    text += (text.empty() ? "" : " ") + graph[cast.node].name + '=' + "aug"[static_cast<int>(cast.whose)];
  return text;
}

TEST(CastsOf, TellsAutocastsFromADecompositions) {
  EXPECT_EQ(whose({autocast("aten::linear", 13), autocast("aten::linear", 13), autocast("aten::matmul", 14), user(14)}),
            "c1=a c2=a c3=g c4=g c5=a c6=u");
}

TEST(CastsOf, GivesEachTracedCastOnce) {
  EXPECT_EQ(whose({autocast("aten::linear", 13)}), "c1=a c2=g c3=g c4=g c5=g c6=g");
}

TEST(CastsOf, HasNoUseForWhatTheGraphDoesNotConvert) {
  EXPECT_EQ(whose({autocast("aten::linear", 13), autocast("aten::linear", 13), autocast("aten::linear", 13),
                   autocast("aten::linear", 99)}),
            "c1=a c2=a c3=g c4=g c5=g c6=g");
}

TEST(CastsOf, GoesByTheOrderWhereTheTextHasNoPlace) {
  const auto graph = read_graph(R"(def forward(self, x: "f32[2, 8][8, 1]cpu", w: "f32[8, 8][8, 1]cpu"):
    # No stacktrace found for following nodes
    c1: "bf16[8, 8][8, 1]cpu" = torch.ops.prims.convert_element_type.default(w, torch.bfloat16);  w = None
    c2: "bf16[2, 8][8, 1]cpu" = torch.ops.prims.convert_element_type.default(x, torch.bfloat16);  x = None
    mm: "bf16[2, 8][8, 1]cpu" = torch.ops.aten.mm.default(c2, c1);  c1 = c2 = None
    c3: "f32[2, 8][8, 1]cpu" = torch.ops.prims.convert_element_type.default(mm, torch.float32);  mm = None
    return (c3,))");
  const std::vector<TracedCast> traced = {autocast("aten::linear", 3), autocast("aten::linear", 4)};
  const auto casts = casts_of(graph, traced);
  ASSERT_EQ(casts.size(), 3u);
  EXPECT_EQ(casts[0].whose, Whose::kAutocast);
  EXPECT_EQ(casts[1].traced, 1u);
  EXPECT_EQ(casts[2].whose, Whose::kGraph);
}

// The graph of a subclass that holds two tensors.
constexpr std::string_view kOfTwo =
    R"(def forward(self, x_a: "f32[2, 8][8, 1]cpu", x_b: "f32[2, 8][8, 1]cpu", w_a: "f32[8, 8][8, 1]cpu", w_b: "f32[8, 8][8, 1]cpu"):
    # File: t.py:13 in forward, code: return x @ w
    c1: "bf16[2, 8][8, 1]cpu" = torch.ops.aten._to_copy.default(x_a, dtype = torch.bfloat16);  x_a = None
    c2: "bf16[2, 8][8, 1]cpu" = torch.ops.aten._to_copy.default(x_b, dtype = torch.bfloat16);  x_b = None
    c3: "bf16[8, 8][8, 1]cpu" = torch.ops.aten._to_copy.default(w_a, dtype = torch.bfloat16);  w_a = None
    c4: "bf16[8, 8][8, 1]cpu" = torch.ops.aten._to_copy.default(w_b, dtype = torch.bfloat16);  w_b = None
    mm: "bf16[2, 8][8, 1]cpu" = torch.ops.aten.mm.default(c1, c3);  c1 = c3 = None
    mm_1: "bf16[2, 8][8, 1]cpu" = torch.ops.aten.mm.default(c2, c4);  c2 = c4 = None
    return (mm, mm_1))";

std::string given(std::vector<TracedCast> traced) {
  std::string text;
  for (const GraphCast& cast : casts_of(read_graph(kOfTwo), traced))
    text += cast.whose == Whose::kGraph ? "-" : std::to_string(cast.traced);
  return text;
}

TEST(CastsOf, GivesATracedCastOfASubclassToEachOfItsParts) {
  TracedCast subclass = autocast("aten::mm", 13);
  EXPECT_EQ(given({subclass, subclass}), "01--");
  subclass.subclass = true;
  EXPECT_EQ(given({subclass, subclass}), "0011");
  EXPECT_EQ(given({autocast("aten::mm", 13), subclass}), "0111");
}

TEST(CastsOf, KnowsTheDirection) {
  TracedCast up = autocast("aten::softmax", 13);
  std::swap(up.from, up.to);
  EXPECT_EQ(whose({up}), "c1=g c2=g c3=a c4=g c5=g c6=g");
}

}  // namespace
}  // namespace castscope::compile
