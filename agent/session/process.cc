#include "agent/session/process.h"

#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <string>

#include "agent/lanes/control.h"
#include "agent/lanes/roll.h"
#include "agent/torch/originals.h"
#include "agent/torch/torch_seam.h"
#include "agent/wiring/features.h"

namespace castscope::agent {

Process g_process;

namespace {

// Returns false when this was done before.
bool let_go() {
  if (g_process.stopped.exchange(true)) return false;
  __atomic_store_n(&(*g_process.preload->control)->state, CASTSCOPE_CONTROL_REFUSES, __ATOMIC_RELEASE);
  stop_watching_operators();
  for (int i = 0; i < CASTSCOPE_HOOK_COUNT; ++i) {
    // These hooks stay, whatever becomes of the record: half a job under another policy would be worse than either.
    if (g_process.keeps_casting && (i == CASTSCOPE_HOOK_CACHED_CAST || i == CASTSCOPE_HOOK_CLEAR_CACHE)) continue;
    if (g_originals[i] != nullptr) put_hook(i, g_originals[i]);
  }
  return true;
}

}  // namespace

void log_line(const char* format, ...) noexcept {
  const auto write = g_process.preload == nullptr ? nullptr : g_process.preload->log;
  if (write == nullptr) return;
  char line[512];
  va_list values;
  va_start(values, format);
  std::vsnprintf(line, sizeof line, format, values);
  va_end(values);
  write(line);
}

void step_aside(const char* sentence) noexcept {
  if (!let_go()) return;
  log_line("steps aside: %s", sentence);
  g_process.preload->say(sentence);
  Recording* r = g_process.recording.load();
  if (r == nullptr) return g_process.preload->call(CASTSCOPE_CALL_UNRECORDED, 0, 0);
  g_process.preload->call(CASTSCOPE_CALL_UNRECORDED, r->segment.number(), r->segment.header().start_ticks);
  try {  // the report must not speak of exact counts
    r->definitions.attribute("notice", "process " + std::to_string(getpid()) + ": " + sentence);
    r->definitions.attribute("stopped", "1");
  } catch (const std::exception&) {  // then only standard error says so
  }
}

void step_aside_without_memory(const std::exception& e) noexcept {
  char sentence[256];
  std::snprintf(sentence, sizeof sentence,
                "no memory to record with (%.100s); from here on this process is not recorded", e.what());
  step_aside(sentence);
}

void prove_python() {
  PythonApi& api = g_process.python;
  const HeldGil* gil = HeldGil::asked(api);
  if (gil == nullptr || api.current_frame() == nullptr || !g_process.python_unproved.exchange(false)) return;
  g_process.has_python = PythonStack::verify(*gil, api);
  log_line("Python 3.%d: its stack can%s be read", api.minor, g_process.has_python ? "" : "not");
  if (g_process.has_python) {
    g_features.python_is_known(*gil);
  } else if (Recording* r = g_process.recording.load()) {
    g_features.python_is_strange(r->definitions);  // otherwise it is told later
  }
}

}  // namespace castscope::agent
