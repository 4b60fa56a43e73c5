#include "agent/session/call_stack.h"

#include <exception>

namespace castscope::agent {

// When out of memory, TorchScript's line is not known, but its callers are.
std::uint64_t with_script(std::uint64_t hash) try {
  return mix(hash, script::call_chain_hash(), 1);
} catch (const std::exception&) {
  return hash;
}

void capture_stack(const ThreadState& t, RawStack& out) {
  std::uint32_t caller = 0;
  out.hash = PythonStack::kNoFrames;
  out.in_script = out.in_trace = false;
  if (g_process.has_python) {
    const void* frame = t.script == nullptr ? nullptr : t.script->python_frame;
    caller = PythonStack::capture(g_process.python, t.python_thread, out, frame);
  }
  if (!runs_script(t, out.hash)) return;
  out.in_script = true;
  out.in_trace = script::at_traced_line();
  out.script = script::call_chain();
  out.script_at = caller;
  out.hash = with_script(out.hash);
}

}  // namespace castscope::agent
