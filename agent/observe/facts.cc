#include "agent/observe/facts.h"

#include <exception>

namespace castscope::observe {

std::uint32_t note_fact(ThreadState& t, const FactSeen& seen) noexcept try {
  Recording& r = *g_process.recording.load();
  lanes::FactDefinition d{};
  d.kind = seen.kind;
  d.detail = seen.detail;
  d.subject = seen.subject;
  if (g_process.has_python) {
    RawStack raw;
    PythonStack::capture(g_process.python, t.python_thread, raw);
    d.stack = r.definitions.stack(raw);
  }
  if (!seen.text.empty()) d.text = r.definitions.string(seen.text);
  const std::uint32_t id = r.definitions.fact(d);
  if (id == 0) return 0;
  auto [at, fresh] = t.counters.try_emplace(id, nullptr);
  if (fresh) at->second = r.segment.new_counter(&t.lane.lane(), id);
  if (at->second != nullptr) lanes::LaneWriter::add(at->second->casts, 1);
  return id;
} catch (const std::exception&) {  // out of memory: it is not told
  return 0;
}

}  // namespace castscope::observe
