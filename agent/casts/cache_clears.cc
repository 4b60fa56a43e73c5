// Autocast's cache is cleared: at the end of an outermost region, or by the job.
#include <algorithm>
#include <exception>

#include "agent/casts/hooks.h"
#include "agent/casts/stale_copies.h"
#include "agent/session/marks.h"
#include "agent/session/process.h"
#include "agent/torch/originals.h"
#include "agent/wiring/features.h"

namespace castscope::agent {
namespace {

void cache_cleared(ThreadState& t) {
  Recording& r = *g_process.recording.load();
  copies_cleared(r);
  lanes::SegmentHeader& h = r.segment.header();
  const CacheContents left = g_features.cache_was_cleared();
  const std::uint64_t entries = h.cache_entries.exchange(left.entries, std::memory_order_relaxed);
  const std::uint64_t bytes = h.cache_bytes.exchange(left.bytes, std::memory_order_relaxed);
  h.cache_clears.fetch_add(1, std::memory_order_relaxed);
  mark(t, lanes::EventKind::kCacheClear, 0, 0, bytes - std::min(bytes, left.bytes),
       lanes::LaneWriter::saturate(entries - std::min(entries, left.entries)));
}

void clear_cache() {
  original<void (*)()>(CASTSCOPE_HOOK_CLEAR_CACHE)();
  // A thread that has done nothing else yet still clears every thread's entries.
  ThreadState* t = g_process.silent() ? nullptr : thread_state();
  if (t == nullptr) {
    g_features.cache_was_cleared();
    return;
  }
  try {
    cache_cleared(*t);
  } catch (const std::exception& e) {  // there was no memory to note it in
    step_aside_without_memory(e);
  }
}

}  // namespace

void* cache_hook(castscope_hook hook) {
  return hook == CASTSCOPE_HOOK_CLEAR_CACHE ? reinterpret_cast<void*>(&clear_cache) : nullptr;
}

}  // namespace castscope::agent
