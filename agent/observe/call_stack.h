// The stack of the present call: Python's, with what TorchScript's interpreter runs where it stands.
#pragma once

#include <cstdint>

#include "agent/observe/process.h"
#include "agent/script/script.h"

namespace castscope::observe {

// Whether TorchScript's interpreter runs in this thread, above these frames of Python: where there are none, it may run
// without our having seen it begin (torch.jit.fork).
inline bool runs_script(const ThreadState& t, std::uint64_t python_hash) {
  return t.script != nullptr || (python_hash == PythonStack::kNoFrames && script::in_use());
}

// The hash of Python's frames, made one of TorchScript's lines too.
std::uint64_t with_script(std::uint64_t hash);

// All frames; the hash is that of the summary (call_frame.h).
void capture_stack(const ThreadState& t, RawStack& out);

}  // namespace castscope::observe
