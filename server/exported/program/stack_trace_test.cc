#include "server/exported/program/stack_trace.h"

#include <gtest/gtest.h>

namespace castscope::exported {
namespace {

constexpr char kTrace[] =
    "  File \"/venv/lib/python3.11/site-packages/torch/_dynamo/functional_export.py\", line 232, in forward\n"
    "    res = self._export_root(*args, **kwargs)\n          ^^^^^^^^^^^^^^^\n"
    "  File \"/job/model.py\", line 29, in forward\n    y = self.a(x)\n        ^^^^^^^^^\n"
    "  File \"/job/model.py\", line 12, in forward\n    y = self.l(x)  # castscope: ignore\n        ^^^^^^^^^\n"
    "  File \"/venv/lib/python3.11/site-packages/torch/nn/modules/linear.py\", line 134, in forward\n"
    "    return F.linear(input, self.weight, self.bias)";
constexpr char kModules[] = "L__self__,,model.Net;L__self__a,a,model.Block;140,a.l,torch.nn.modules.linear.Linear";

TEST(StackTraceTest, FramesAreReadAsPythonPrintsThem) {
  const std::vector<TraceFrame> frames = frames_of(kTrace);
  ASSERT_EQ(frames.size(), 4u);
  EXPECT_EQ(frames[1].at.file, "/job/model.py");
  EXPECT_EQ(frames[1].at.line, 29);
  EXPECT_EQ(frames[1].at.function, "forward");
  EXPECT_EQ(frames[1].text, "y = self.a(x)");
  EXPECT_EQ(frames[3].text, "return F.linear(input, self.weight, self.bias)");
}

TEST(StackTraceTest, TheUsersLineIsTheInnermostThatIsNotPyTorchs) {
  const auto place = user_place(kTrace, kModules);
  ASSERT_TRUE(place);
  EXPECT_EQ(place->at.line, 12);
  EXPECT_EQ(place->at.function, "Block.forward");
  EXPECT_EQ(place->text, "y = self.l(x)  # castscope: ignore");
  EXPECT_EQ(place->module, "a.l");
}

TEST(StackTraceTest, PyTorchMayLieAnywhere) {
  const auto place = user_place(
      "File \"/src/net.py\", line 3, in forward\n  y = self.l(x)\n"
      "File \"/src/pytorch/torch/nn/modules/linear.py\", line 134, in forward\n    return F.linear(input)",
      "L__self__,,net.Net");
  ASSERT_TRUE(place);
  EXPECT_EQ(place->at.file, "/src/net.py");
}

TEST(StackTraceTest, AClassOfAnotherFileIsNotTheFunctions) {
  const auto place = user_place("File \"/job/other.py\", line 3, in forward\n  y", "L__self__,,model.Net");
  ASSERT_TRUE(place);
  EXPECT_EQ(place->at.function, "forward");
  EXPECT_EQ(user_place("File \"/job/a.py\", line 3, in helper\n  y", "L,,a.Net")->at.function, "helper");
}

TEST(StackTraceTest, GeneratedCodeIsNobodys) {
  EXPECT_FALSE(user_place("File \"<eval_with_key>.97\", line 5, in forward\n    linear = torch.ops.aten.linear", ""));
  EXPECT_FALSE(user_place("", kModules));
}

TEST(StackTraceTest, WhatIsNoTracebackIsPassedOver) {
  for (const char* text : {"File \"a", "File \"a\", line x, in f", "File \"a\", line 1", "File \"a\", line -1, in f",
                           "File \"a\", line 99999999999999999999, in f", "\n\n", "text"})
    EXPECT_TRUE(frames_of(text).empty()) << text;
  EXPECT_TRUE(modules_of("a;b,c;;,,").empty());
}

}  // namespace
}  // namespace castscope::exported
