// The autocast regions of a thread, from the calls that autocast.__enter__ and __exit__ make
// (torch/amp/autocast_mode.py): set_autocast_enabled, set_autocast_dtype, increment_nesting, set_autocast_cache_enabled
// on the way in; decrement_nesting, clear_cache at nesting 0, the setters again on the way out. Pairs are made by
// nesting alone: tracing calls the setters at other times too.
#pragma once

#include "agent/session/process.h"
#include "agent/torch/autocast_state.h"

namespace castscope::agent {

// The definition of the region that is in force for `device` in this thread, for a conversion to `to`
// (c10::ScalarType). set_autocast_dtype is not hooked: the autograd engine calls it for every device type around each
// node that it runs (setThreadLocalState in aten/src/ATen/ThreadLocalState.cpp), thousands of times a step. An operator
// that casts to the dtype last seen shows that it still holds; for any other PyTorch is asked. A conversion that is not
// autocast's belongs to the innermost open region, whatever its device and the tensor's.
std::uint32_t find_region(ThreadState& t, std::uint8_t device, bool autocast_asks = true);
inline std::uint32_t region_in_force(ThreadState& t, std::uint8_t device, std::uint8_t to) {
  if (t.region_asked && t.region_device == device && (to == t.region_dtype || t.region_dtype == autocast_dtype(device)))
      [[likely]]
    return t.region;
  return find_region(t, device);
}
inline std::uint32_t region_of_conversion(ThreadState& t, std::uint8_t device) {
  if (!t.open.empty()) device = t.open.back().device;
  if (t.region_known && t.region_device == device && t.region_dtype == autocast_dtype(device)) [[likely]]
    return t.region;
  return find_region(t, device, false);
}
void region_device_switched(const MayWait& may_wait, ThreadState& t, std::uint8_t device, bool enabled);
void region_cache_switched(ThreadState& t, bool enabled);
void region_entered(const MayWait& may_wait, ThreadState& t);
// The serial number of the innermost open region that may be named by events: eager code's or a script's; 0 = none.
std::uint32_t innermost_serial(const ThreadState& t);
void region_left(const MayWait& may_wait, ThreadState& t);
// In a forked child, `t` goes on where `parent` was: in the regions that were open around the fork.
void regions_inherited(const MayWait& may_wait, ThreadState& t, const ThreadState& parent);
// The thread ends, or its process does: tells the regions that nobody will leave any more.
void regions_abandoned(ThreadState& t, bool thread_ends);

}  // namespace castscope::agent
