#include "agent/session/script_facts.h"

#include <exception>
#include <functional>
#include <string>

#include "agent/session/process.h"

namespace castscope::observe {

std::uint32_t script_stack(ThreadState& t, const std::vector<CodeLine>& place, bool may_ask) {
  Definitions& definitions = g_process.recording.load()->definitions;
  RawStack raw;
  if (g_process.has_python) PythonStack::capture(g_process.python, t.python_thread, raw);
  if (!may_ask && !definitions.pinned(raw)) raw = {};
  raw.script = place;
  for (const CodeLine& frame : place) raw.hash = mix(raw.hash, std::hash<std::string>{}(frame.file), frame.line);
  return definitions.stack(raw);
}

void note_script_fact(FactSeen seen, const std::vector<CodeLine>& place) noexcept try {
  if (g_process.stopped.load(std::memory_order_relaxed)) return;
  ThreadState* t = thread_state();
  if (t == nullptr) return;
  seen.stack = script_stack(*t, place, false);
  if (seen.stack != 0) note_fact(*t, seen);
} catch (const std::exception&) {  // out of memory: the fact is not told
}

}  // namespace castscope::observe
