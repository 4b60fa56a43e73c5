// The autocast regions of a thread, from the calls that autocast.__enter__ and __exit__ make
// (torch/amp/autocast_mode.py): set_autocast_enabled, set_autocast_dtype, increment_nesting, set_autocast_cache_enabled
// on the way in; decrement_nesting, clear_cache at nesting 0, the setters again on the way out. Pairs are made by
// nesting alone: tracing calls the setters at other times too.
#pragma once

#include "agent/observe/process.h"

namespace castscope::observe {

// The definition of the region that is in force for `device` in this thread.
std::uint32_t find_region(ThreadState& t, std::uint8_t device);
inline std::uint32_t region_in_force(ThreadState& t, std::uint8_t device) {
  return t.region_known && t.region_device == device ? t.region : find_region(t, device);
}

void region_device_switched(ThreadState& t, std::uint8_t device, bool enabled);
void region_changed(ThreadState& t);
void region_cache_switched(ThreadState& t, bool enabled);
void region_entered(ThreadState& t);
void region_left(ThreadState& t);
void cache_cleared(ThreadState& t);

// Writes an event that is not a cast. `site`, `bytes`, `entries` as the kind asks.
void mark(ThreadState& t, lanes::EventKind kind, std::uint32_t site = 0, std::uint8_t flags = 0,
          std::uint64_t bytes = 0, std::uint32_t entries = 0);

}  // namespace castscope::observe
