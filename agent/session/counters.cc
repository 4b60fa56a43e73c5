#include "agent/session/counters.h"

#include "agent/session/process.h"

namespace castscope::agent {

Counted overflow_of(ThreadState& t, lanes::Cause cause) {
  lanes::Lane& lane = t.lane.lane();
  if (cause == lanes::Cause::kAutocast) return {&lane.overflow, 0};
  return {&lane.other, lane.other.site.load(std::memory_order_relaxed)};
}

Counted counter_of(ThreadState& t, std::uint32_t id, lanes::Cause cause) {
  if (id == 0) return overflow_of(t, cause);
  auto [at, fresh] = t.counters.try_emplace(id, nullptr);
  if (fresh) at->second = g_process.recording.load()->segment.new_counter(&t.lane.lane(), id);
  return at->second == nullptr ? overflow_of(t, cause) : Counted{at->second, id};
}

}  // namespace castscope::agent
