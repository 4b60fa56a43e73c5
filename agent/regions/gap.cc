#include "agent/regions/gap.h"

#include "agent/regions/regions.h"
#include "agent/session/marks.h"
#include "agent/torch/autocast_state.h"

namespace castscope::agent {
namespace {

void forget_open(ThreadState& t) {
  Recording& r = *g_process.recording.load();
  for (const OpenRegion& region : t.open) {
    if (region.enabled) r.enabled_regions.fetch_sub(1, std::memory_order_relaxed);
    if (region.cache_off) r.cache_off_regions.fetch_sub(1, std::memory_order_relaxed);
  }
  if (!t.open.empty()) r.steps.outermost_exit(t.entered_in);
  t.open.clear();
}

}  // namespace

void regions_after_gap(ThreadState& t) {
  t.span = g_process.span.load(std::memory_order_relaxed);
  forget_open(t);
  t.script_open.clear();
  t.script_stay = 0;
  forget_region(t);
  t.region = t.region_serial = 0;
  t.raw_stack = 0;
  t.raw_stack_hash = 0;
  t.switched = 0;
  t.restoring = {};
  t.annotated = {};
  t.was_on = false;
  t.cache_enabled = autocast_cache_enabled();
  for (std::uint8_t device = 0; device < 21; ++device) t.enabled_by_raw[device] = autocast_enabled(device) ? 1 : 0;
}

void regions_let_go(ThreadState& t) {
  for (std::size_t i = t.open.size(); i-- > 0;) {
    const OpenRegion& region = t.open[i];
    if (region.announced) mark(t, lanes::EventKind::kRegionExit, region.definition, region.flags);
  }
  forget_open(t);
  t.region_serial = 0;
  forget_region(t);
}

}  // namespace castscope::agent
