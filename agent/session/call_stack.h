// The stack of the present call: Python's frames, and where TorchScript's interpreter runs, its lines.
#pragma once

#include <cstdint>

#include "agent/session/process.h"
#include "agent/torchscript/interpreter_state.h"

namespace castscope::agent {

// Whether TorchScript's interpreter runs in this thread, above these frames of Python. Where there are no frames, it
// may run although we did not see it begin (torch.jit.fork).
inline bool runs_script(const ThreadState& t, std::uint64_t python_hash) {
  return t.script != nullptr || (python_hash == PythonStack::kNoFrames && script::in_use());
}

// Adds TorchScript's lines to the hash of Python's frames.
std::uint64_t with_script(std::uint64_t hash);

// The code that runs in this thread: Python, and TorchScript where that runs.
template <int PythonMinor>
PythonStack::Summary stack_summary(const ThreadState& t) {
  PythonStack::Summary summary;
  if constexpr (PythonMinor != 0) summary = PythonStack::summarize<PythonMinor>(g_process.python, t.python_thread);
  if (runs_script(t, summary.hash)) [[unlikely]]
    summary.hash = with_script(summary.hash);
  return summary;
}

// Calls `make` with the stack walk of this version of Python as its template argument; 0 stands for any other version,
// and for a process without Python.
template <typename Make>
auto for_python(int minor, Make make) {
  switch (minor) {
    case 9:
      return make.template operator()<9>();
    case 10:
      return make.template operator()<10>();
    case 11:
      return make.template operator()<11>();
    case 12:
      return make.template operator()<12>();
    case 13:
      return make.template operator()<13>();
    case 14:
      return make.template operator()<14>();
    default:
      return make.template operator()<0>();
  }
}

// The code that runs in this thread, where the version of Python is not known at compile time.
inline PythonStack::Summary summary_of(const ThreadState& t) {
  return for_python(g_process.has_python ? g_process.python.minor : 0,
                    [&]<int Minor>() { return stack_summary<Minor>(t); });
}

// Captures all frames; the hash is that of the summary.
void capture_stack(const ThreadState& t, RawStack& out);

}  // namespace castscope::agent
