#include "agent/cpython/python_stack.h"

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <vector>

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

// Frames of Python functions in memory, as CPython of one minor version has them, running in this thread.
class Frames {
 public:
  explicit Frames(int minor) {
    EXPECT_TRUE(layout_of(minor, layout));
    cframe_.assign(64, 0);
    thread_.assign(256, 0);
    if (layout.through_cframe) put(thread_, layout.thread_frame, cframe_.data());
  }
  // Called by the frame that was last put here. `step` is the instruction's address, or before 3.11 its number.
  void call(const void* code, std::uintptr_t step, int owner = 0) {
    std::vector<char>& frame = frames_.emplace_back(512, 0);
    const std::uintptr_t tag = layout.tagged ? 1 : 0;
    put(frame, layout.code, reinterpret_cast<std::uintptr_t>(code) | tag);
    put(frame, layout.previous, top_);
    if (layout.lasti_bytes == 0)
      put(frame, layout.instruction, step);
    else
      put(frame, layout.instruction, static_cast<std::int32_t>(step));
    if (layout.first_foreign_owner != FrameLayout::kNoOwners)
      put(frame, layout.owner, static_cast<std::uint8_t>(owner));
    put(frame, layout.locals, reinterpret_cast<std::uintptr_t>(&self) | tag);
    top_ = frame.data();
    if (layout.through_cframe)
      put(cframe_, layout.cframe_frame, top_);
    else
      put(thread_, layout.thread_frame, top_);
  }
  PythonApi python() {
    static Frames* running;
    running = this;
    PythonApi api{};
    api.frame = layout;
    api.this_thread = [] { return reinterpret_cast<PyThread*>(running->thread_.data()); };
    return api;
  }
  FrameLayout layout{};
  const int self = 0;

 private:
  template <typename T>
  static void put(std::vector<char>& to, std::size_t offset, T value) {
    std::memcpy(to.data() + offset, &value, sizeof value);
  }
  std::vector<char> thread_, cframe_;
  std::deque<std::vector<char>> frames_;
  const void* top_ = nullptr;
};

alignas(4) const char g_inner[512] = {}, g_module[512] = {}, g_outer[512] = {};

template <int Minor>
void expect_one_stack_by_both_walks() {
  SCOPED_TRACE(Minor);
  Frames frames(Minor);
  const bool numbered = frames.layout.lasti_bytes != 0;
  const auto step = [&](const char* code) { return numbered ? 21 : reinterpret_cast<std::uintptr_t>(code + 42); };
  frames.call(g_outer, step(g_outer));
  frames.call(g_module, step(g_module));
  const bool has_foreign = Minor >= 12;
  if (has_foreign) frames.call(g_outer, 0, 3);  // one of the C stack
  frames.call(g_inner, step(g_inner));
  const PythonApi api = frames.python();
  PythonStack::module_call_code = g_module;

  static RawStack stack;
  PythonStack::capture(api, nullptr, stack);
  ASSERT_EQ(stack.depth, 3u);
  const char* codes[] = {g_inner, g_module, g_outer};
  const int bytes = Minor == 9 ? 21 : 42;  // 3.9 counts bytes, 3.10 words
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(stack.frames[i].code, codes[i]);
    EXPECT_EQ(stack.frames[i].instruction, codes[i] + bytes);
  }
  const auto summary = PythonStack::summarize<Minor>(api, nullptr);
  EXPECT_EQ(summary.hash, stack.hash);
  EXPECT_EQ(summary.module, &frames.self);
  EXPECT_EQ(PythonStack::running_modules(api, nullptr), (PythonStack::Modules{&frames.self, &frames.self}));
  EXPECT_EQ(PythonStack::running(api).code, g_inner);
  PythonStack::module_call_code = nullptr;
}

TEST(PythonStackTest, TheHotWalkAndTheOneThatKeepsFramesSeeTheSameStackInEachPython) {
  expect_one_stack_by_both_walks<9>();
  expect_one_stack_by_both_walks<10>();
  expect_one_stack_by_both_walks<11>();
  expect_one_stack_by_both_walks<12>();
  expect_one_stack_by_both_walks<13>();
  expect_one_stack_by_both_walks<14>();
}

TEST(PythonStackTest, AnotherInstructionIsAnotherStack) {
  for (const int minor : {9, 10, 14}) {
    Frames one(minor), other(minor);
    one.call(g_outer, 2);
    other.call(g_outer, 4);
    static RawStack of_one, of_other;
    PythonStack::capture(one.python(), nullptr, of_one);
    PythonStack::capture(other.python(), nullptr, of_other);
    EXPECT_NE(of_one.hash, of_other.hash) << minor;
  }
}

TEST(PythonStackTest, APythonThatIsNotKnownHasNoLayout) {
  FrameLayout layout;
  for (const int minor : {8, 15}) EXPECT_FALSE(layout_of(minor, layout)) << minor;
}

}  // namespace
}  // namespace castscope::agent
