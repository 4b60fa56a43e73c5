#include "agent/cpython/python_stack.h"

namespace castscope::agent {

std::atomic<const void*> PythonStack::module_call_code{nullptr};

RawFrame PythonStack::at(const FrameLayout& layout, const void* frame) {
  auto code = read_at<std::uintptr_t>(frame, layout.code);
  if (layout.tagged) code &= ~std::uintptr_t{3};
  const std::uintptr_t at = instruction_in(frame, layout.instruction, layout.lasti_bytes);
  return {reinterpret_cast<const void*>(code), reinterpret_cast<const void*>(layout.lasti_bytes == 0 ? at : code + at),
          frame};
}

RawFrame PythonStack::running(const PythonApi& api, const PyThread* lasting) {
  const void* frame = top(api, lasting);
  while (frame != nullptr && read_at<std::uint8_t>(frame, api.frame.owner) >= api.frame.first_foreign_owner)
    frame = read_at<const void*>(frame, api.frame.previous);
  return frame == nullptr ? RawFrame{} : at(api.frame, frame);
}

std::uint32_t PythonStack::capture(const PythonApi& api, const PyThread* lasting, RawStack& out, const void* mark) {
  out.depth = 0;
  out.truncated = false;
  out.beyond.clear();
  out.script.clear();
  std::uint32_t walked = 0, marked = kMaxDepth;
  out.module_frame = out.root_module_frame = nullptr;
  const FrameLayout& f = api.frame;
  const void* module_code = module_call_code.load(std::memory_order_relaxed);
  std::uint64_t h = kNoFrames;
  for (const void* frame = top(api, lasting); frame != nullptr; frame = read_at<const void*>(frame, f.previous)) {
    if (read_at<std::uint8_t>(frame, f.owner) >= f.first_foreign_owner) continue;
    const RawFrame raw = at(f, frame);
    if (raw.code == module_code && raw.code != nullptr) {
      if (out.module_frame == nullptr) out.module_frame = frame;
      out.root_module_frame = frame;
    }
    if (walked++ < kHashedDepth)
      h = add_frame(h, reinterpret_cast<std::uintptr_t>(raw.code), instruction_in(frame, f.instruction, f.lasti_bytes));
    if (frame == mark) marked = out.depth;
    if (out.depth < kMaxDepth) {
      out.frames[out.depth++] = raw;
      continue;
    }
    out.truncated = true;  // the outermost module may be among the frames beyond
    if (out.beyond.size() < kMostBeyond) out.beyond.push_back(raw);
  }
  out.hash = h;
  return marked;
}

PythonStack::Modules PythonStack::running_modules(const PythonApi& api, const PyThread* lasting) {
  const FrameLayout& f = api.frame;
  const auto module_code = reinterpret_cast<std::uintptr_t>(module_call_code.load(std::memory_order_relaxed));
  Modules modules;
  for (const void* frame = top(api, lasting); frame != nullptr; frame = read_at<const void*>(frame, f.previous)) {
    if (read_at<std::uint8_t>(frame, f.owner) >= f.first_foreign_owner) continue;
    auto code = read_at<std::uintptr_t>(frame, f.code);
    if (f.tagged) code &= ~std::uintptr_t{3};
    if (code != module_code) continue;
    modules.outermost = self_of(api, frame);
    if (modules.innermost == nullptr) modules.innermost = modules.outermost;
  }
  return modules;
}

bool PythonStack::verify(const HeldGil&, PythonApi& api) {
  PyObject* frame = api.current_frame();
  if (frame == nullptr) return false;
  static RawStack walked;  // too large for a caller's stack of unknown size; the GIL is held
  capture(api, nullptr, walked);
  api.inc_ref(frame);
  bool same = true;
  std::uint32_t n = 0;
  while (frame != nullptr && same && n < walked.depth) {
    PyObject* code = api.frame_code(frame);
    const auto offset =
        static_cast<const char*>(walked.frames[n].instruction) - (reinterpret_cast<const char*>(code) + api.code_bytes);
    same = code == walked.frames[n].code && offset == api.frame_lasti(frame);
    api.dec_ref(code);
    PyObject* back = api.frame_back(frame);
    api.dec_ref(frame);
    frame = back;
    ++n;
  }
  same = same && (walked.truncated || (frame == nullptr && n == walked.depth)) && n > 0;
  if (frame != nullptr) api.dec_ref(frame);
  return same;
}

}  // namespace castscope::agent
