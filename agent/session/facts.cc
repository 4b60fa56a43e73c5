#include "agent/session/facts.h"

#include <exception>
#include <functional>

#include "agent/session/call_stack.h"
#include "agent/session/counters.h"

namespace castscope::agent {
namespace {

// The table of a thread that keeps meeting new facts is emptied at this size.
constexpr std::size_t kMostInThread = 20'000;

std::uint64_t key_of(const FactSeen& seen, std::uint64_t stack) {
  const auto what = static_cast<std::uint64_t>(seen.kind) << 48 | std::uint64_t{seen.detail} << 32 | seen.subject;
  return mix(stack, what, std::hash<std::string_view>{}(seen.text));
}

// Without `may_wait`, the place is told as far as its code is known.
FactEntry define(const MayWait* may_wait, ThreadState& t, const FactSeen& seen, LookAtStack look) {
  Recording& r = *g_process.recording.load();
  lanes::FactDefinition d{};
  d.kind = seen.kind;
  d.detail = seen.detail;
  d.subject = seen.subject;
  d.stack = seen.stack;
  RawStack raw;
  if (seen.stack == 0 && (g_process.has_python || script::in_use())) {
    capture_stack(t, raw);
    d.stack = may_wait == nullptr ? r.definitions.stack_as_known(raw) : r.definitions.stack(*may_wait, raw);
  }
  if (look != nullptr && !look(r.definitions, raw, d)) return {};
  if (!seen.text.empty()) d.text = r.definitions.string(seen.text);
  const std::uint32_t id = r.definitions.seen(d);
  if (id == 0) return {};
  const Counted counted = counter_of(t, id, lanes::Cause::kUnknown);
  return {id, counted.site == id ? counted.counter : nullptr};
}

std::uint32_t note(const MayWait* may_wait, ThreadState& t, const FactSeen& seen, LookAtStack look) noexcept try {
  const std::uint64_t key = key_of(seen, seen.stack != 0 ? seen.stack : summary_of(t).hash);
  auto found = t.facts.find(key);
  if (found == t.facts.end()) {
    if (t.facts.size() >= kMostInThread) t.facts.clear();
    found = t.facts.emplace(key, define(may_wait, t, seen, look)).first;
  }
  if (found->second.counter != nullptr) lanes::LaneWriter::add(found->second.counter->casts, seen.times);
  return found->second.id;
} catch (const std::exception&) {  // out of memory: the fact is not told
  return 0;
}

}  // namespace

std::uint32_t note_fact(const MayWait& may_wait, ThreadState& t, const FactSeen& seen, LookAtStack look) noexcept {
  return note(&may_wait, t, seen, look);
}

std::uint32_t note_fact_as_known(ThreadState& t, const FactSeen& seen, LookAtStack look) noexcept {
  return note(nullptr, t, seen, look);
}

}  // namespace castscope::agent
