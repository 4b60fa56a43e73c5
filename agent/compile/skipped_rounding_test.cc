#include "agent/compile/skipped_rounding.h"

#include <gtest/gtest.h>

namespace castscope::compile {
namespace {

std::string skipped(std::string_view text) {
  const auto graph = read_graph(text);
  std::string names;
  for (const std::uint32_t node : never_rounded(graph)) names += (names.empty() ? "" : " ") + graph[node].name;
  return names;
}

TEST(NeverRounded, IsWhatStaysWithinAKernel) {
  EXPECT_EQ(skipped(R"(def forward(self, x: "bf16[4, 4][4, 1]cpu", y: "bf16[4, 4][4, 1]cpu"):
    mm: "bf16[4, 4][4, 1]cpu" = torch.ops.aten.mm.default(x, y)
    sigmoid: "bf16[4, 4][4, 1]cpu" = torch.ops.aten.sigmoid.default(mm)
    mul: "bf16[4, 4][4, 1]cpu" = torch.ops.aten.mul.Tensor(sigmoid, 3)
    exp: "bf16[4, 4][4, 1]cpu" = torch.ops.aten.exp.default(mul)
    sub: "bf16[4, 4][4, 1]cpu" = torch.ops.aten.sub.Tensor(exp, sigmoid)
    return (sub,))"),
            "sigmoid mul exp");
}

TEST(NeverRounded, IsNotWhatAProductOrTheCallerReads) {
  EXPECT_EQ(skipped(R"(def forward(self, x: "bf16[4, 4][4, 1]cpu"):
    relu: "bf16[4, 4][4, 1]cpu" = torch.ops.aten.relu.default(x)
    mm: "bf16[4, 4][4, 1]cpu" = torch.ops.aten.mm.default(relu, relu)
    tanh: "bf16[4, 4][4, 1]cpu" = torch.ops.aten.tanh.default(mm)
    mul: "bf16[4, 4][4, 1]cpu" = torch.ops.aten.mul.Tensor(tanh, 3)
    sum: "bf16[4][1]cpu" = torch.ops.aten.sum.dim_IntList(mul, [1])
    return (sum, tanh))"),
            "");
}

TEST(NeverRounded, IsNotInFloat32) {
  EXPECT_EQ(skipped(R"(def forward(self, x: "f32[4][1]cpu"):
    relu: "f32[4][1]cpu" = torch.ops.aten.relu.default(x)
    exp: "f32[4][1]cpu" = torch.ops.aten.exp.default(relu)
    return (exp,))"),
            "");
}

}  // namespace
}  // namespace castscope::compile
