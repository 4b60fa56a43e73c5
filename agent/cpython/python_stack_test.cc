#include "agent/cpython/python_stack.h"

#include <gtest/gtest.h>

namespace castscope::agent {
namespace {

// A thread state that begins with its current frame.
const void* g_frame = &g_frame;
int g_finalizing = 0;

PythonApi python() {
  PythonApi api{};
  api.this_thread = [] { return reinterpret_cast<PyThread*>(&g_frame); };
  api.is_finalizing = [] { return g_finalizing; };
  g_finalizing = 0;
  return api;
}

TEST(PythonStackTest, AThreadMayHaveNoState) {
  PythonApi api = python();
  api.this_thread = []() -> PyThread* { return nullptr; };
  EXPECT_EQ(PythonStack::top(api), nullptr);
}

TEST(PythonStackTest, WhileTheInterpreterEndsOnlyTheStateThatLastsIsRead) {
  const PythonApi api = python();
  EXPECT_EQ(PythonStack::top(api), g_frame);
  g_finalizing = 1;
  EXPECT_EQ(PythonStack::top(api), nullptr);
  EXPECT_EQ(PythonStack::top(api, api.this_thread()), g_frame);
}

}  // namespace
}  // namespace castscope::agent
