#include "agent/compile/graph_text.h"

#include <gtest/gtest.h>

namespace castscope::compile {
namespace {

constexpr std::uint8_t kHalf = 5, kFloat = 6, kBFloat16 = 15;

// The texts as torch 2.13.0 gives them out.
constexpr std::string_view kForward = R"(class GraphModule(torch.nn.Module):
    def forward(
        self,
        primals_1: "f32[16, 8][8, 1]cpu",  # PlainAOTInput(idx=0)
        primals_2: "f32[16][1]cpu",  # PlainAOTInput(idx=1)
        primals_3: "f32[s77, 8][8, 1]cpu",  # PlainAOTInput(idx=2)
    ):
        # File: /home/a b/t.py:13 in forward, code: h = {"a": F.gelu(s.l(x))}, code: 1
        convert_element_type: "bf16[16][1]cpu" = torch.ops.prims.convert_element_type.default(primals_2, torch.bfloat16);  primals_2 = None
        convert_element_type_1: "bf16[16, 8][8, 1]cpu" = torch.ops.prims.convert_element_type.default(primals_1, torch.bfloat16);  primals_1 = None
        convert_element_type_2: "bf16[s77, 8][8, 1]cpu" = torch.ops.prims.convert_element_type.default(primals_3, torch.bfloat16);  primals_3 = None
        permute: "bf16[8, 16][1, 8]cpu" = torch.ops.aten.permute.default(convert_element_type_1, [1, 0]);  convert_element_type_1 = None
        addmm: "bf16[s77, 16][16, 1]cpu" = torch.ops.aten.addmm.default(convert_element_type, convert_element_type_2, permute);  convert_element_type = permute = None

        # No stacktrace found for following nodes
        var_mean = torch.ops.aten.var_mean.correction(addmm, [1], correction = 0, keepdim = True)
        getitem: "bf16[s77, 1][1, 1]cpu" = var_mean[0]
        mul: "f16[]cpu" = torch.ops.aten.mul.Tensor(getitem, 0.5)
        return (addmm, permute_2)
)";

const Node& named(const std::vector<Node>& graph, std::string_view name) {
  for (const Node& node : graph)
    if (node.name == name) return node;
  ADD_FAILURE() << name;
  return graph.front();
}

TEST(ReadGraph, KnowsOperatorsDtypesAndPlaces) {
  const auto graph = read_graph(kForward);
  const Node& addmm = named(graph, "addmm");
  EXPECT_EQ(addmm.op, "aten::addmm");
  EXPECT_EQ(addmm.dtype, kBFloat16);
  EXPECT_EQ(addmm.place, (Place{"/home/a b/t.py", 13}));
  EXPECT_EQ(addmm.place.function, "forward");
  ASSERT_EQ(addmm.inputs.size(), 3u);
  EXPECT_EQ(graph[addmm.inputs[2]].name, "permute");
}

TEST(ReadGraph, TellsAConversion) {
  const auto graph = read_graph(kForward);
  const Node& weight = named(graph, "convert_element_type_1");
  EXPECT_EQ(converts_from(graph, weight), kFloat);
  EXPECT_EQ(weight.bytes, 16u * 8 * 2);
  EXPECT_EQ(converts_from(graph, named(graph, "addmm")), kNoFloat);
}

TEST(ReadGraph, DoesNotCountTheBytesOfSymbolicSizes) {
  const auto graph = read_graph(kForward);
  EXPECT_EQ(named(graph, "convert_element_type_2").bytes, 0u);
  EXPECT_EQ(named(graph, "mul").bytes, 2u);  // it has no dimensions
}

TEST(ReadGraph, HasNoPlaceWhereTheTextHasNone) {
  const auto graph = read_graph(kForward);
  EXPECT_EQ(named(graph, "var_mean").place.line, 0u);
  EXPECT_EQ(named(graph, "var_mean").dtype, kNoFloat);
  EXPECT_EQ(named(graph, "mul").dtype, kHalf);
}

TEST(ReadGraph, KnowsWhatIsReturned) {
  const auto graph = read_graph(R"(def forward(self, x: "f32[2][1]cpu", y: "f32[2][1]cpu"):
    a: "f32[2][1]cpu" = torch.ops.aten.mul.Tensor(x, y)
    b: "f32[2][1]cpu" = torch.ops.aten.mul.Tensor(x, a)
    return (
        a,  # PlainAOTOutput(idx=0)
        x,  # SavedForBackwardsAOTOutput(idx=0)
    )
)");
  EXPECT_TRUE(named(graph, "a").returned && named(graph, "x").returned);
  EXPECT_FALSE(named(graph, "b").returned || named(graph, "y").returned);
  EXPECT_TRUE(named(read_graph(kForward), "addmm").returned);
}

TEST(ReadGraph, ReadsArgumentsOnOneLineAndGraphsWithinGraphs) {
  const auto graph = read_graph(R"(class GraphModule(torch.nn.Module):
    def forward(self, arg0_1: "f32[2][1]cpu", arg1_1: "bf16[3][1]cpu"):
        body = self.body
        while_loop = torch.ops.higher_order.while_loop(cond, body, (arg0_1,), ());  cond = body = arg0_1 = None
        return (while_loop,)

    class body(torch.nn.Module):
        def forward(self, arg0_1: "bf16[2][1]cpu"):
            # File: /t.py:3 in f, code: x
            _to_copy: "f32[2][1]cpu" = torch.ops.aten._to_copy.default(arg0_1, dtype = torch.float32);  arg0_1 = None
            return (_to_copy,)
)");
  EXPECT_EQ(named(graph, "arg1_1").dtype, kBFloat16);
  EXPECT_EQ(converts_from(graph, named(graph, "_to_copy")), kBFloat16);  // of its own arg0_1
}

TEST(ReadGraph, TakesWhateverItIsGiven) {
  for (const std::string_view text :
       {"", "def", "x: \"", "x: \"bf16[", "x = torch.ops.", "x = torch.ops.a(",
        "# File: ", "# File: :", "# File: a:99999999999999 in b, code: ", "x: \"f32[999999999999, 99999999999]\" = y("})
    EXPECT_LE(read_graph(text).size(), 1u) << text;
}

TEST(ReadGraph, ReadsACutText) {
  for (std::size_t n = 0; n < kForward.size(); ++n) read_graph(kForward.substr(0, n));
}

}  // namespace
}  // namespace castscope::compile
