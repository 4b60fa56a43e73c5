#include "agent/session/script_facts.h"

#include <exception>
#include <functional>
#include <string>

#include "agent/session/process.h"

namespace castscope::agent {

namespace {

void capture_callers(const ThreadState& t, RawStack& raw) {
  if (g_process.has_python) PythonStack::capture(g_process.python, t.python_thread, raw);
}

void put_before_callers(const std::vector<CodeLine>& place, RawStack& raw) {
  raw.script = place;
  for (const CodeLine& frame : place) raw.hash = mix(raw.hash, std::hash<std::string>{}(frame.file), frame.line);
}

// Python code whose names are not known is left out.
std::uint32_t stack_as_known(const ThreadState& t, const std::vector<CodeLine>& place) {
  Definitions& definitions = g_process.recording.load()->definitions;
  RawStack raw;
  capture_callers(t, raw);
  if (!definitions.pinned(raw)) raw = {};
  put_before_callers(place, raw);
  return definitions.stack_as_known(raw);
}

}  // namespace

std::uint32_t script_stack(const MayWait& may_wait, ThreadState& t, const std::vector<CodeLine>& place) {
  RawStack raw;
  capture_callers(t, raw);
  put_before_callers(place, raw);
  return g_process.recording.load()->definitions.stack(may_wait, raw);
}

void note_script_fact(FactSeen seen, const std::vector<CodeLine>& place) noexcept try {
  if (g_process.silent()) return;
  ThreadState* t = thread_state();
  if (t == nullptr) return;
  seen.stack = stack_as_known(*t, place);
  if (seen.stack != 0) note_fact_as_known(*t, seen);
} catch (const std::exception&) {  // out of memory: the fact is not told
}

}  // namespace castscope::agent
