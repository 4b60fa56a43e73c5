#include "agent/torchscript/source_lines.h"

#include <gtest/gtest.h>

namespace castscope::script {
namespace {

TEST(SourceLinesTest, TextOfATracedNodeIsItsPythonStack) {
  const auto rows = rows_of_trace(
      "/site/torch/nn/modules/linear.py(134): forward\n"
      "/home/a (b)/net.py(12): forward\n"
      "/site/torch/jit/_trace.py(1301): trace_module\n"
      "/home/train.py(3): <module>\n");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0], (CodeLine{"/site/torch/nn/modules/linear.py", "forward", 134}));
  EXPECT_EQ(rows[1], (CodeLine{"/home/a (b)/net.py", "forward", 12}));
}

TEST(SourceLinesTest, SourceCodeIsNoStack) {
  EXPECT_TRUE(rows_of_trace("def forward(self, x):\n    return x\n").empty());
  EXPECT_TRUE(rows_of_trace("def f(): return 1\n").empty());
  EXPECT_TRUE(rows_of_trace("a(b): c").empty());
  EXPECT_TRUE(rows_of_trace("").empty());
}

TEST(SourceLinesTest, ALastRowMayLackItsEnd) {
  EXPECT_EQ(rows_of_trace("a.py(99999999999): f\n").size(), 0u);
  EXPECT_EQ(rows_of_trace("a.py(9): f").size(), 1u);
}

}  // namespace
}  // namespace castscope::script
