#include "agent/start/attaching.h"

#include <exception>
#include <mutex>
#include <string>
#include <utility>

#include "agent/casts/stale_copies.h"
#include "agent/lanes/control.h"
#include "agent/operators/deep.h"
#include "agent/regions/gap.h"
#include "agent/torch/originals.h"
#include "agent/torch/torch_seam.h"

namespace castscope::agent {
namespace {

// Later spans are counted, and their times added up, as the first ones are; only where each lies is not told any more.
constexpr std::uint32_t kMostToldSpans = 2048;

std::mutex* g_mutex = new std::mutex;  // replaced in a forked child, where its holder may not exist
std::uint32_t g_deep_seen = 0;         // deep steps that were asked for and are passed on
std::uint32_t g_first_step = 0;        // of the present span
bool g_armed = false;                  // the process had begun before anybody wanted to watch it

castscope_control& control() { return **g_process.preload->control; }
std::uint32_t asked(const std::uint32_t& word) { return __atomic_load_n(&word, __ATOMIC_ACQUIRE); }
void tell(std::uint32_t& word, std::uint32_t value) { __atomic_store_n(&word, value, __ATOMIC_RELEASE); }

// Since the segment's clock began, and never 0, which means that no span is open.
std::uint64_t ns_since_begin(const Recording& r) {
  const std::uint64_t now = lanes::monotonic_ns(), begin = r.segment.header().monotonic0_ns;
  return now > begin ? now - begin : 1;
}

void span_begins(Recording& r) {
  lanes::SegmentHeader& h = r.segment.header();
  if (h.spans.fetch_add(1, std::memory_order_relaxed) == 0 && g_armed) r.definitions.attribute("partly_watched", "1");
  h.span_since_ns.store(ns_since_begin(r), std::memory_order_relaxed);
  g_first_step = r.steps.current() + (r.steps.is_over() ? 1 : 0);
}

void span_ends(Recording& r) {
  lanes::SegmentHeader& h = r.segment.header();
  const std::uint64_t since = h.span_since_ns.exchange(0, std::memory_order_relaxed);
  if (since == 0) return;
  const std::uint64_t now = ns_since_begin(r);
  h.watched_ns.fetch_add(now > since ? now - since : 0, std::memory_order_relaxed);
  if (h.spans.load(std::memory_order_relaxed) > kMostToldSpans) return;
  r.definitions.attribute("span", std::to_string(since) + " " + std::to_string(now) + " " +
                                      std::to_string(g_first_step) + " " + std::to_string(r.steps.current()));
}

void put_originals() {
  for (int i = 0; i < CASTSCOPE_HOOK_COUNT; ++i) {
    void* const armed = g_process.preload->armed[i];
    if (g_originals[i] != nullptr) put_hook(i, armed != nullptr ? armed : g_originals[i]);
  }
}

void let_go(ThreadState& t) {
  Recording& r = *g_process.recording.load();
  operators::let_go(t);
  regions_let_go(t);
  try {
    span_ends(r);
    if (!std::exchange(g_armed, true)) r.definitions.attribute("partly_watched", "1");
  } catch (const std::exception&) {  // no memory: the span is counted, and not told
  }
  g_process.away.store(true);
  listen_to_records(false);
  put_originals();
  tell(control().state, CASTSCOPE_CONTROL_ARMED);
  log_line("lets go");
}

void pass_on_deep_steps() {
  const std::uint32_t wanted = asked(control().deep_asked);
  if (wanted == g_deep_seen) return;
  operators::want_steps(wanted - g_deep_seen);
  g_deep_seen = wanted;
}

}  // namespace

void begin_away() {
  const std::lock_guard lock(*g_mutex);
  g_armed = true;
  g_process.away.store(true);
  listen_to_records(false);
}

void attach(void (*put_hooks)()) {
  const std::lock_guard lock(*g_mutex);
  if (g_process.stopped.load() || !g_process.away.load()) return;
  g_process.span.fetch_add(1);
  copies_may_be_older();
  if (Recording* r = g_process.recording.load()) {
    copies_cleared_unseen(*r);
    r->weights.changed();  // what was written meanwhile is nobody's step
    r->segment.header().cache_entries.store(0, std::memory_order_relaxed);
    r->segment.header().cache_bytes.store(0, std::memory_order_relaxed);
    span_begins(*r);
  }
  g_process.away.store(false);
  listen_to_records(true);
  watch_operators();
  put_hooks();
  tell(control().spans, control().spans + 1);
  tell(control().state, CASTSCOPE_CONTROL_WATCHES);
  log_line("watches again");
}

bool control_asks(ThreadState& t) {
  const std::lock_guard lock(*g_mutex);
  if (g_process.silent()) return g_process.away.load();
  pass_on_deep_steps();
  if (!castscope_wants_away(&control())) return false;
  if (asked(control().state) != CASTSCOPE_CONTROL_WATCHES) return false;  // it holds, or refuses
  Recording* r = g_process.recording.load();
  if (r == nullptr || r->enabled_regions.load(std::memory_order_relaxed) > 0) return false;
  let_go(t);
  return true;
}

void control_asks_within(ThreadState& t) {
  const std::lock_guard lock(*g_mutex);
  if (g_process.silent()) return;
  if (asked(control().wanted) != CASTSCOPE_WANTED_AWAY_AT_ONCE) return;
  if (asked(control().state) == CASTSCOPE_CONTROL_WATCHES) let_go(t);
}

void begin_watching() {
  if (asked(control().state) != CASTSCOPE_CONTROL_ARMED) return;
  g_armed = true;
  copies_may_be_older();
  tell(control().spans, 1);
  tell(control().state, CASTSCOPE_CONTROL_WATCHES);
}

void span_begins_with(Recording& r) { span_begins(r); }

void last_span_ends(Recording& r) {
  try {
    if (!g_process.away.load()) span_ends(r);
  } catch (const std::exception&) {  // no memory: as where the process is killed
  }
}

void attaching_in_child() {
  g_mutex = new std::mutex;
  g_deep_seen = 0;
}

}  // namespace castscope::agent
