// The Python stack of the calling thread, read without the GIL. While a thread is inside a call from Python into
// PyTorch its own frames cannot change, so that it may walk them; other threads never touch them.
//
// Code objects are pinned (a reference is kept) at first sight, in symbolize(): the address of a freed one is used
// again for another function. Until then an address stands for its code only while its frame is alive, which it is
// during the call.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <vector>

#include "agent/cpython/code_line.h"
#include "agent/cpython/python_api.h"

namespace castscope::agent {

// Deeper stacks are cut, and marked as cut; of the frames beyond kMaxDepth, those outside of PyTorch are kept. More
// frames, kHashedDepth, tell stacks apart: Python itself allows 1000, unless it is told otherwise.
inline constexpr std::uint32_t kMaxDepth = 256, kHashedDepth = 1024;
inline constexpr std::uint32_t kMostBeyond = 1u << 14;

struct RawFrame {
  const void* code;
  const void* instruction;
  const void* frame;  // it lives as long as the call that the stack is of
};

struct RawStack {
  std::uint64_t hash = 0;
  std::uint32_t depth = 0;
  bool truncated = false;
  const void* module_frame = nullptr;       // innermost frame of Module._wrapped_call_impl
  const void* root_module_frame = nullptr;  // outermost one
  RawFrame frames[kMaxDepth];               // innermost first
  std::vector<RawFrame> beyond;             // … and further outwards, where it is truncated
  // The lines that TorchScript's interpreter runs, innermost first. frames[script_at] called them, and they called all
  // `frames` before that.
  bool in_script = false, in_trace = false;  // in_trace: what it runs was traced, not scripted
  std::vector<CodeLine> script;
  std::uint32_t script_at = 0;
};

class PythonStack {
 public:
  // Proves the layout against the C API on the live stack, which is not empty.
  static bool verify(const HeldGil& gil, PythonApi& api);

  // The frame that is running in this thread, nullptr when there is none. `lasting` is what lasting_thread gave.
  static const void* top(const PythonApi& api, const PyThread* lasting = nullptr) {
    const PyThread* thread = lasting != nullptr ? lasting : asked_for(api);
    if (thread == nullptr) return nullptr;
    const FrameLayout& f = api.frame;
    const void* p = read_at<const void*>(thread, f.thread_frame);
    // The pointer to _PyCFrame is null after Python's end.
    return f.through_cframe && p != nullptr ? read_at<const void*>(p, f.cframe_frame) : p;
  }

  // The Python frame that is running, with its code and its instruction; all nullptr when there is none.
  static RawFrame running(const PythonApi& api, const PyThread* lasting = nullptr);
  static RawFrame at(const FrameLayout& layout, const void* frame);

  // The state of a thread other than the first. When the interpreter ends, it frees the states of threads that live on,
  // and such a thread would still find its freed one by asking.
  [[gnu::noinline]] static const PyThread* asked_for(const PythonApi& api) {
    if (api.is_finalizing != nullptr && api.is_finalizing() != 0) return nullptr;
    return api.this_thread();
  }

  static constexpr std::uint64_t kNoFrames = 0x243f6a8885a308d3;  // digits of pi: any odd start does
  struct Summary {
    std::uint64_t hash = kNoFrames;
    const void* module = nullptr;  // `self` of the innermost Module._wrapped_call_impl
  };
  // The hot walk: one 64-bit hash over all (code, instruction) pairs, and the innermost module.
  template <int Minor>
  static Summary summarize(const PythonApi& api, const PyThread* lasting);
  // The modules that run in this thread: `self` of the innermost and of the outermost call; nullptr if there is none.
  struct Modules {
    const void* innermost = nullptr;
    const void* outermost = nullptr;
    bool operator==(const Modules&) const = default;
  };
  static Modules running_modules(const PythonApi& api, const PyThread* lasting);
  // The slow walk, which keeps the frames. Returns the place of the frame `mark` among them; kMaxDepth when it is not
  // there.
  static std::uint32_t capture(const PythonApi& api, const PyThread* lasting, RawStack& out,
                               const void* mark = nullptr);

  static const void* self_of(const PythonApi& api, const void* frame, int local = 0) {
    auto bits = read_at<std::uintptr_t>(frame, api.frame.locals + sizeof(void*) * static_cast<std::size_t>(local));
    return reinterpret_cast<const void*>(api.frame.tagged ? bits & ~std::uintptr_t{3} : bits);
  }

  // Set once the code object of Module._wrapped_call_impl was met.
  static std::atomic<const void*> module_call_code;
};

// Multiply and fold 128 bits.
inline std::uint64_t mix(std::uint64_t h, std::uint64_t a, std::uint64_t b) {
  const auto p = static_cast<unsigned __int128>(h ^ a) * (b ^ 0x9e3779b97f4a7c15u);
  return static_cast<std::uint64_t>(p) ^ static_cast<std::uint64_t>(p >> 64);
}

// The stack hash: every (code, instruction) becomes 64 mixed bits, and these are added up with a rotation between, so
// that the order counts. Only the rotate and add wait for the frame before (the walk is as slow as its pointer chase);
// two different stacks agree with a chance near 2^-64.
inline std::uint64_t add_frame(std::uint64_t hash, std::uint64_t code, std::uint64_t instruction) {
  return std::rotl(hash, 9) + mix(0x9e3779b97f4a7c15u, code, instruction);
}

// Which instruction of its code the frame is at, as one word. `lasti_bytes` is that of FrameLayout.
inline std::uintptr_t instruction_in(const void* frame, std::size_t offset, std::uint8_t lasti_bytes) {
  if (lasti_bytes == 0) return read_at<std::uintptr_t>(frame, offset);
  return static_cast<std::uintptr_t>(std::intptr_t{read_at<std::int32_t>(frame, offset)} * lasti_bytes);
}

template <int Minor>
struct Offsets;  // the same numbers as in python_api.cc, as constants, so that the walk is a handful of loads
template <>
struct Offsets<9> {
  static constexpr std::size_t code = 32, previous = 24, instruction = 104, owner = 0, locals = 360;
  static constexpr bool tagged = false, foreign = false;
  static constexpr std::uint8_t lasti_bytes = 1;
};
template <>
struct Offsets<10> : Offsets<9> {
  static constexpr std::size_t instruction = 96, locals = 352;
  static constexpr std::uint8_t lasti_bytes = 2;
};
template <>
struct Offsets<11> {
  static constexpr std::size_t code = 32, previous = 48, instruction = 56, owner = 69, locals = 72;
  static constexpr bool tagged = false, foreign = false;
  static constexpr std::uint8_t lasti_bytes = 0;
};
template <>
struct Offsets<12> {
  static constexpr std::size_t code = 0, previous = 8, instruction = 56, owner = 70, locals = 72;
  static constexpr bool tagged = false, foreign = true;
  static constexpr std::uint8_t lasti_bytes = 0;
};
template <>
struct Offsets<13> : Offsets<12> {};
template <>
struct Offsets<14> {
  static constexpr std::size_t code = 0, previous = 8, instruction = 56, owner = 74, locals = 80;
  static constexpr bool tagged = true, foreign = true;
  static constexpr std::uint8_t lasti_bytes = 0;
};

template <int Minor>
PythonStack::Summary PythonStack::summarize(const PythonApi& api, const PyThread* lasting) {
  using O = Offsets<Minor>;
  Summary s;
  const void* module_code = module_call_code.load(std::memory_order_relaxed);
  const void* frame = top(api, lasting);
  std::uint64_t h = kNoFrames;
  for (std::uint32_t depth = 0; frame != nullptr && depth < kHashedDepth;
       frame = read_at<const void*>(frame, O::previous)) {
    if constexpr (O::foreign)
      if (read_at<std::uint8_t>(frame, O::owner) >= 3) continue;
    auto code = read_at<std::uintptr_t>(frame, O::code);
    if constexpr (O::tagged) code &= ~std::uintptr_t{3};
    h = add_frame(h, code, instruction_in(frame, O::instruction, O::lasti_bytes));
    if (code == reinterpret_cast<std::uintptr_t>(module_code) && s.module == nullptr) {
      auto self = read_at<std::uintptr_t>(frame, O::locals);
      if constexpr (O::tagged) self &= ~std::uintptr_t{3};
      s.module = reinterpret_cast<const void*>(self);
    }
    ++depth;
  }
  s.hash = h;
  return s;
}

}  // namespace castscope::agent
