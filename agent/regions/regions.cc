#include "agent/regions/regions.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "agent/cpython/qualified_name.h"
#include "agent/naming/own_python.h"
#include "agent/regions/asked_regions.h"
#include "agent/regions/lost_regions.h"
#include "agent/regions/optimizer_step.h"
#include "agent/regions/region_steps.h"
#include "agent/session/call_stack.h"
#include "agent/session/facts.h"
#include "agent/session/marks.h"
#include "agent/torch/autocast_state.h"
#include "agent/torch/torch_python.h"
#include "agent/torchscript/tracing.h"
#include "agent/wiring/features.h"

namespace castscope::agent {
namespace {

// Code objects of autocast.__enter__ and __exit__, known from their first use on. Set under the GIL, and pinned.
std::atomic<const void*> g_enter_code{nullptr};
std::atomic<const void*> g_exit_code{nullptr};

// Whether autocast's own __enter__ or __exit__ calls the setter, not some other code that does the same.
bool in_autocast_code(const MayWait& may_wait) {
  if (!g_process.has_python) return false;
  const PythonApi& api = g_process.python;
  const RawFrame running = PythonStack::running(api);
  const void* code = running.code;
  if (code == nullptr) return false;
  const void *enter = g_enter_code.load(), *exit = g_exit_code.load();
  if (code == enter || code == exit) return true;
  if (enter != nullptr && exit != nullptr) return false;
  Gil gil(may_wait, api);
  if (!gil.held()) return false;
  KeepError keep(gil, api);
  PyObject* object = object_at(code);
  if (type_of(object) != api.code_type) return false;
  if (!text_attribute(gil, api, object, "co_filename").ends_with("torch/amp/autocast_mode.py")) return false;
  const std::string function = qualified_name(gil, api, running);
  if (function != "autocast.__enter__" && function != "autocast.__exit__") return false;
  api.inc_ref(object);
  (function == "autocast.__enter__" ? g_enter_code : g_exit_code).store(code);
  return true;
}

// Code that could not be pinned has no name: then the owner of the region is not known.
RegionOpener find_opener(Definitions& definitions, const RawStack& raw) {
  const PythonApi& api = g_process.python;
  const HeldGil* gil = HeldGil::asked(api);
  if (gil == nullptr) return {};
  KeepError keep(*gil, api);
  return opener_of(*gil, api, definitions, raw);
}

// The reference holds until the next call. `raw` is the stack that runs, unless its opener is known.
const RegionStack& name_stack(const MayWait& may_wait, ThreadState& t, const RawStack& raw,
                              const RegionOpener* opener = nullptr) {
  auto found = t.region_stacks.find(raw.hash);
  if (found != t.region_stacks.end()) return found->second;
  Definitions& definitions = g_process.recording.load()->definitions;
  RegionStack place;
  place.definition = definitions.stack(may_wait, raw);
  place.truncated = raw.truncated;
  const bool pinned = definitions.pinned(raw);
  place.in_trace = definitions.passes_through(raw, [](const Definitions::Place& at) { return follows_code(at.file); });
  place.stands = is_amp_handle(definitions.user_line(raw.frames, raw.depth).file);
  if (opener != nullptr)
    place.opener = *opener;
  else if (pinned)
    place.opener = find_opener(definitions, raw);
  if (t.region_stacks.size() >= kMaxStacks) t.region_stacks.clear(), t.region_frames = 0;
  if (t.region_frames + raw.depth <= kMostRegionFrames && pinned) {
    place.frames.assign(raw.frames, raw.frames + raw.depth);
    t.region_frames += raw.depth;
  }
  return t.region_stacks.emplace(raw.hash, std::move(place)).first->second;
}

const RegionStack& present_stack(const MayWait& may_wait, ThreadState& t, std::uint64_t& hash) {
  static const RegionStack* const kNone = new RegionStack;  // never deleted, like everything else here
  if (!g_process.has_python) return *kNone;
  RawStack raw;
  capture_stack(t, raw);
  hash = raw.hash;
  return name_stack(may_wait, t, raw);
}

// The number of a place that `parent`, the thread that forked, knew. 0 when its frames were not kept.
std::uint32_t inherited_stack(const MayWait& may_wait, ThreadState& t, const ThreadState& parent, std::uint64_t hash) {
  const auto known = parent.region_stacks.find(hash);
  if (known == parent.region_stacks.end() || known->second.frames.empty()) return 0;
  RawStack raw;
  raw.hash = hash;
  raw.truncated = known->second.truncated;
  for (const RawFrame& frame : known->second.frames) raw.frames[raw.depth++] = frame;
  return name_stack(may_wait, t, raw, &known->second.opener).definition;
}

lanes::RegionDefinition describe(const ThreadState& t, std::uint8_t device, lanes::RegionKind kind, std::uint32_t stack,
                                 std::uint32_t parent, std::uint32_t nesting) {
  lanes::RegionDefinition d{};
  d.stack = stack;
  d.parent = parent;
  d.nesting = nesting;
  d.device = device;
  d.dtype = autocast_dtype(device);
  d.enabled = kind == lanes::RegionKind::kInherited || t.enabled_by_raw[device % 32] == 1;
  d.cache_enabled = t.cache_enabled;
  d.kind = kind;
  return d;
}

std::uint32_t define(const lanes::RegionDefinition& d) { return g_process.recording.load()->definitions.region(d); }

// A region's object takes the cache setting of the thread that builds it, and a new thread begins with the cache on.
void note_cache_setting(const ThreadState& t, OpenRegion& region) {
  std::atomic<std::int32_t>& off = g_process.recording.load()->cache_off_regions;
  region.cache_off = !t.cache_enabled && t.enabled_by_raw[region.device % 32] == 1;
  if (region.cache_off)
    off.fetch_add(1, std::memory_order_relaxed);
  else if (t.cache_enabled && &region == t.open.data() && off.load(std::memory_order_relaxed) > 0)
    region.asked |= lanes::kRegionCacheOffElsewhere;
}

void forget_cache_setting(OpenRegion& region) {
  if (std::exchange(region.cache_off, false))
    g_process.recording.load()->cache_off_regions.fetch_sub(1, std::memory_order_relaxed);
}

void announce(ThreadState& t, OpenRegion& region) {
  const std::size_t index = static_cast<std::size_t>(&region - t.open.data());
  const std::uint32_t parent = index == 0 ? 0 : t.open[index - 1].definition;
  region.as_told = describe(t, region.device, lanes::RegionKind::kContext, region.stack, parent,
                            static_cast<std::uint32_t>(index + 1));
  if (!region.announced) note_cache_setting(t, region);
  region.as_told.flags = region.asked;
  region.definition = define(region.as_told);
  if (region.announced) return;
  region.announced = true;
  mark(t, lanes::EventKind::kRegionEnter, region.definition, region.flags);
}

std::uint32_t name_region(ThreadState& t, std::uint8_t device, bool autocast_asks) {
  if (autocast_asks && !t.open.empty() && t.open.front().stands) asked_in_standing_region(t);
  t.region_device = device;
  t.region_known = true;
  t.region_asked = autocast_asks;
  t.region_dtype = autocast_dtype(device);
  for (std::size_t i = t.open.size(); i-- > 0;) {
    if (t.open[i].device != device) continue;
    announce(t, t.open[i]);
    return t.region = t.open[i].definition;
  }
  // If a thread finds autocast on and did not switch it, the setting came from elsewhere: TorchScript's forks do that.
  const bool raw = t.enabled_by_raw[device % 32] == 1 && (t.switched >> device % 32 & 1) != 0;
  return t.region = define(describe(t, device, raw ? lanes::RegionKind::kRaw : lanes::RegionKind::kInherited,
                                    raw ? t.raw_stack : 0, 0, 0));
}

// Where the region is entered, whose it is and what was asked for: the frame of autocast.__enter__ and those around it
// tell.
void look_at_entry(const MayWait& may_wait, ThreadState& t, OpenRegion& region) {
  const RegionStack& place = present_stack(may_wait, t, region.stack_hash);
  region.stack = place.definition;
  region.in_trace = place.in_trace;
  region.stands = place.stands;
  if (place.in_trace) {
    const std::uint32_t followed = g_features.followed_stack(may_wait);
    if (followed != 0) region.stack = followed;
  }
  if (!g_process.has_python) return;
  const PythonApi& api = g_process.python;
  region.opener = frame_at(api, t.python_thread, place.opener.opener);
  if (place.opener.may_be_suspended) region.owner = frame_at(api, t.python_thread, place.opener.owner);
  if (place.opener.runs_later) region.asked |= lanes::kRegionRunsLater;
  const HeldGil* gil = in_autocast_code(may_wait) ? HeldGil::asked(api) : nullptr;
  if (gil == nullptr) return;
  const void* enter = PythonStack::top(api, t.python_thread);
  region.object = PythonStack::self_of(api, enter);
  for (OpenRegion& around : t.open) around.entered_again |= region.object != nullptr && around.object == region.object;
  const Asked asked = asked_of(*gil, enter);
  if (asked.default_dtype) region.asked |= lanes::kRegionDefaultDtype;
  if (!asked.enabled || t.enabled_by_raw[t.entering_device % 32] == 1) return;
  // autocast.__init__ asks CUDA whether it is there, and any other device which dtypes it knows
  // (torch/amp/autocast_mode.py).
  constexpr std::uint8_t kCuda = 1;  // c10::DeviceType
  const bool cuda = t.entering_device == kCuda;
  region.asked |= lanes::kRegionAskedEnabled | (cuda ? lanes::kRegionNoDevice : lanes::kRegionBadDtype);
}

// An autocast object remembers only one setting to restore: that from the last time it was entered.
void look_at_restored(const MayWait& may_wait, ThreadState& t, std::uint8_t device, bool enabled) {
  const OpenRegion left = std::exchange(t.restoring, OpenRegion{});
  if (!left.entered_again || left.device != device || left.enabled != enabled || left.was_on == enabled) return;
  note_fact(may_wait, t,
            {.kind = lanes::FactKind::kRegionNeverLeft, .detail = 1, .subject = left.definition, .stack = left.stack});
  if (enabled) t.raw_stack = left.stack, t.raw_stack_hash = left.stack_hash;
}

}  // namespace

std::uint32_t find_region(ThreadState& t, std::uint8_t device, bool autocast_asks) {
  try {
    return name_region(t, device, autocast_asks);
  } catch (const std::exception&) {  // out of memory: the call is counted without its region
    return 0;
  }
}

void region_device_switched(const MayWait& may_wait, ThreadState& t, std::uint8_t device, bool enabled) {
  meet_python();
  t.entering_device = device;
  t.was_on = t.enabled_by_raw[device % 32] == 1;
  t.enabled_by_raw[device % 32] = enabled ? 1 : 0;
  t.switched |= 1u << device % 32;
  forget_region(t);
  if (enabled) g_process.recording.load()->call_sites.expect_calls();
  const bool by_region = in_autocast_code(may_wait);
  if (enabled && !by_region) t.raw_stack = present_stack(may_wait, t, t.raw_stack_hash).definition;
  if (by_region && t.restoring.entered_again) look_at_restored(may_wait, t, device, enabled);
}

void region_cache_switched(ThreadState& t, bool enabled) {
  t.cache_enabled = enabled;
  forget_region(t);
  if (!t.open.empty() && !t.open.back().announced) announce(t, t.open.back());
}

std::uint32_t innermost_serial(const ThreadState& t) {
  std::uint32_t serial = t.open.empty() ? 0 : t.open.back().serial;
  for (const OpenScriptRegion& open : t.script_open)
    if (open.definition != 0 || t.open.empty()) serial = std::max(serial, open.serial);
  return serial;
}

void region_entered(const MayWait& may_wait, ThreadState& t) {
  Recording& r = *g_process.recording.load();
  OpenRegion region;
  look_at_entry(may_wait, t, region);
  if (t.open.empty() && t.script_open.empty()) outermost_entered(t, region.stands, region.stack);
  region.serial = r.region_serial.fetch_add(1, std::memory_order_relaxed) + 1;
  region.device = t.entering_device;
  region.enabled = t.enabled_by_raw[region.device % 32] == 1;
  region.was_on = t.was_on;
  if (region.enabled) r.enabled_regions.fetch_add(1, std::memory_order_relaxed);
  t.open.push_back(region);
  t.region_serial = region.serial;
  forget_region(t);
  if (script::is_tracing()) script::region_entered_in_trace(region.serial);
}

void regions_inherited(const MayWait& may_wait, ThreadState& t, const ThreadState& parent) {
  Recording& r = *g_process.recording.load();
  t.switched = parent.switched;
  t.enabled_by_raw = parent.enabled_by_raw;  // asking PyTorch gives no answer inside an operator's kernel
  t.raw_stack = inherited_stack(may_wait, t, parent, parent.raw_stack_hash);
  t.raw_stack_hash = parent.raw_stack_hash;
  for (const OpenRegion& known : parent.open) {
    OpenRegion& region = t.open.emplace_back(known);
    region.flags = lanes::kFlagInherited;
    if (region.cache_off) r.cache_off_regions.fetch_add(1, std::memory_order_relaxed);
    region.object = region.opener = region.owner = nullptr;  // whatever becomes of it, the parent tells
    region.entered_again = false;
    region.others = {};
    if (region.enabled) r.enabled_regions.fetch_add(1, std::memory_order_relaxed);
    region.stack = inherited_stack(may_wait, t, parent, known.stack_hash);
    region.serial = t.region_serial = r.region_serial.fetch_add(1, std::memory_order_relaxed) + 1;
    if (!known.announced) continue;  // it will be announced
    region.as_told.stack = region.stack;
    region.as_told.parent = t.open.size() < 2 ? 0 : t.open[t.open.size() - 2].definition;
    region.definition = define(region.as_told);
    mark(t, lanes::EventKind::kRegionEnter, region.definition, region.flags);
  }
  const Steps::Entry entry{grad_mode(), in_backward(), in_optimizer_step(), false,
                           !t.open.empty() && t.open.front().stands};
  if (!t.open.empty()) t.entered_in = r.steps.outermost_enter(g_process.python, entry).era;
}

namespace {

// Finds the region that ends. Coroutines may leave regions in another order than they entered them; a region without a
// known owner ends as a `with` does, the last one first.
struct Leaving {
  std::size_t index;
  bool by_owner;
};
Leaving leaving(const MayWait& may_wait, ThreadState& t) {
  const Leaving last{t.open.size() - 1, false};
  const auto owned = [](const OpenRegion& region) { return region.owner != nullptr; };
  if (!g_process.has_python || std::none_of(t.open.begin(), t.open.end(), owned)) return last;
  std::uint64_t hash = 0;
  const RegionStack& place = present_stack(may_wait, t, hash);
  if (!place.opener.may_be_suspended) return last;
  const void* owner = frame_at(g_process.python, t.python_thread, place.opener.owner);
  for (std::size_t i = t.open.size(); owner != nullptr && i-- > 0;)
    if (t.open[i].owner == owner) return {i, true};
  return last;
}

// The region was open until its owner left it: everything that other code did meanwhile ran in it.
void tell_leak(const MayWait& may_wait, ThreadState& t, const OpenRegion& region) {
  if (region.others.times == 0) return;
  note_fact(may_wait, t,
            {.kind = lanes::FactKind::kRegionLeaked,
             .subject = region.definition,
             .text = region.others.op,
             .stack = region.others.stack,
             .times = region.others.times});
}

// Called while torch.jit.trace records, which forgets regions.
void left_in_trace(const MayWait& may_wait, ThreadState& t, const OpenRegion& open) {
  script::Region region{.device = open.device, .dtype = autocast_dtype(open.device), .enabled = open.enabled};
  const auto known = t.region_stacks.find(open.stack_hash);
  if (known != t.region_stacks.end()) {
    const auto& frames = known->second.frames;
    region.place.push_back(g_process.recording.load()->definitions.user_line(frames.data(), frames.size()));
  }
  if (script::region_left_in_trace(open.serial, region)) tell_lost_region(may_wait, t, region);
}

}  // namespace

void region_left(const MayWait& may_wait, ThreadState& t) {
  Recording& r = *g_process.recording.load();
  if (t.open.empty()) return;
  const auto [index, by_owner] = leaving(may_wait, t);
  OpenRegion& region = t.open[index];
  if (!region.announced) announce(t, region);
  if (by_owner) tell_leak(may_wait, t, region);
  if (script::is_tracing()) left_in_trace(may_wait, t, region);
  mark(t, lanes::EventKind::kRegionExit, region.definition, region.flags);
  if (region.enabled) r.enabled_regions.fetch_sub(1, std::memory_order_relaxed);
  forget_cache_setting(region);
  if (region.entered_again) t.restoring = region;  // for the setter that autocast.__exit__ calls next
  t.open.erase(t.open.begin() + static_cast<std::ptrdiff_t>(index));
  t.region_serial = innermost_serial(t);
  forget_region(t);
  if (t.open.empty() && t.script_open.empty()) r.steps.outermost_exit(t.entered_in);
}

// Tells regions whose frames are gone while they are open, or will be: a `with` is left before its function is.
void regions_abandoned(ThreadState& t, bool thread_ends) {
  if (thread_ends)
    for (OpenRegion& region : t.open) forget_cache_setting(region);
  const PythonApi& api = g_process.python;
  if (!g_process.has_python) return;
  const bool python_ended = api.is_initialized() == 0;
  // A daemon's thread ends wherever it happens to be when Python ends.
  if (thread_ends && (python_ended || (api.is_finalizing != nullptr && api.is_finalizing() != 0))) return;
  if (!thread_ends && !python_ended && HeldGil::asked(api) == nullptr) return;
  for (const OpenRegion& region : t.open) {
    if (region.opener == nullptr || region.stack == 0 || region.definition == 0) continue;
    if (!thread_ends && !python_ended && is_running(api, t.python_thread, region.opener)) continue;
    note_fact_as_known(
        t, {.kind = lanes::FactKind::kRegionNeverLeft, .subject = region.definition, .stack = region.stack});
  }
}

}  // namespace castscope::agent
