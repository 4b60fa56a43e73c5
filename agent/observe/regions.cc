#include "agent/observe/regions.h"

#include <exception>

#include "agent/observe/autocast_state.h"
#include "agent/observe/hooks.h"
#include "agent/observe/scaling.h"
#include "agent/observe/sites.h"

namespace castscope::observe {
namespace {

// Code objects of autocast.__enter__ and __exit__: known from their first use on. Set under the GIL, and pinned.
std::atomic<const void*> g_enter_code{nullptr};
std::atomic<const void*> g_exit_code{nullptr};

const void* running_code() {
  if (!g_process.has_python) return nullptr;
  const PythonApi& api = g_process.python;
  const void* frame = PythonStack::top(api);
  if (frame == nullptr) return nullptr;
  auto bits = read_at<std::uintptr_t>(frame, api.frame.code);
  return reinterpret_cast<const void*>(api.frame.tagged ? bits & ~std::uintptr_t{3} : bits);
}

// The setter is called by autocast's own __enter__ or __exit__, not by someone who does what they do.
bool in_autocast_code() {
  const void* code = running_code();
  if (code == nullptr) return false;
  const void *enter = g_enter_code.load(), *exit = g_exit_code.load();
  if (code == enter || code == exit) return true;
  if (enter != nullptr && exit != nullptr) return false;
  const PythonApi& api = g_process.python;
  Gil gil(api);
  if (!gil.held()) return false;
  KeepError keep(api);
  auto* object = static_cast<PyObject*>(const_cast<void*>(code));
  if (type_of(object) != api.code_type) return false;
  if (!text_attribute(api, object, "co_filename").ends_with("torch/amp/autocast_mode.py")) return false;
  const std::string function = text_attribute(api, object, "co_qualname");
  if (function != "autocast.__enter__" && function != "autocast.__exit__") return false;
  api.inc_ref(object);
  (function == "autocast.__enter__" ? g_enter_code : g_exit_code).store(code);
  return true;
}

std::uint32_t name_stack(ThreadState& t, const RawStack& raw) {
  auto found = t.region_stacks.find(raw.hash);
  if (found != t.region_stacks.end()) return found->second.definition;
  Definitions& definitions = g_process.recording.load()->definitions;
  RegionStack place{definitions.stack(raw), raw.truncated, {}};
  if (t.region_stacks.size() >= kMaxStacks) return place.definition;
  if (t.region_frames + raw.depth <= kMostRegionFrames && definitions.pinned(raw)) {
    place.frames.assign(raw.frames, raw.frames + raw.depth);
    t.region_frames += raw.depth;
  }
  return t.region_stacks.emplace(raw.hash, std::move(place)).first->second.definition;
}

std::uint32_t present_stack(ThreadState& t, std::uint64_t& hash) {
  if (!g_process.has_python) return 0;
  RawStack raw;
  PythonStack::capture(g_process.python, t.python_thread, raw);
  hash = raw.hash;
  return name_stack(t, raw);
}

// A place that `parent` knew, in the thread that forked. 0 when its frames were not kept.
std::uint32_t inherited_stack(ThreadState& t, const ThreadState& parent, std::uint64_t hash) {
  const auto known = parent.region_stacks.find(hash);
  if (known == parent.region_stacks.end() || known->second.frames.empty()) return 0;
  RawStack raw;
  raw.hash = hash;
  raw.truncated = known->second.truncated;
  for (const RawFrame& frame : known->second.frames) raw.frames[raw.depth++] = frame;
  return name_stack(t, raw);
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

void announce(ThreadState& t, OpenRegion& region) {
  const std::size_t index = static_cast<std::size_t>(&region - t.open.data());
  const std::uint32_t parent = index == 0 ? 0 : t.open[index - 1].definition;
  region.as_told = describe(t, region.device, lanes::RegionKind::kContext, region.stack, parent,
                            static_cast<std::uint32_t>(index + 1));
  region.definition = define(region.as_told);
  if (region.announced) return;
  region.announced = true;
  mark(t, lanes::EventKind::kRegionEnter, region.definition, region.flags);
}

}  // namespace

void mark(ThreadState& t, lanes::EventKind kind, std::uint32_t site, std::uint8_t flags, std::uint64_t bytes,
          std::uint32_t entries) {
  lanes::Event* e = t.lane.begin_event();
  if (e == nullptr) return;
  *e = lanes::Event{};
  e->time = t.lane.now();
  e->bytes = bytes;
  e->site = site;
  e->step = g_process.recording.load()->steps.current();
  e->region = t.region_serial;
  e->entries = entries;
  e->kind = kind;
  e->flags = flags;
  t.lane.publish();
}

namespace {

std::uint32_t name_region(ThreadState& t, std::uint8_t device) {
  t.region_device = device;
  t.region_known = true;
  t.region_dtype = autocast_dtype(device);
  for (std::size_t i = t.open.size(); i-- > 0;) {
    if (t.open[i].device != device) continue;
    announce(t, t.open[i]);
    return t.region = t.open[i].definition;
  }
  // A thread that found autocast on and did nothing to it got it from elsewhere: TorchScript's forks do.
  const bool raw = t.enabled_by_raw[device % 32] == 1 && (t.switched >> device % 32 & 1) != 0;
  return t.region = define(describe(t, device, raw ? lanes::RegionKind::kRaw : lanes::RegionKind::kInherited,
                                    raw ? t.raw_stack : 0, 0, 0));
}

}  // namespace

std::uint32_t find_region(ThreadState& t, std::uint8_t device) {
  try {
    return name_region(t, device);
  } catch (const std::exception&) {  // out of memory: the call is counted, its region is not known
    return 0;
  }
}

void region_device_switched(ThreadState& t, std::uint8_t device, bool enabled) {
  meet_python();
  t.entering_device = device;
  t.enabled_by_raw[device % 32] = enabled ? 1 : 0;
  t.switched |= 1u << device % 32;
  t.region_known = false;
  if (enabled) g_process.recording.load()->call_sites.expect_calls();
  if (!in_autocast_code() && enabled) t.raw_stack = present_stack(t, t.raw_stack_hash);
}

void region_cache_switched(ThreadState& t, bool enabled) {
  t.cache_enabled = enabled;
  t.region_known = false;
  if (!t.open.empty() && !t.open.back().announced) announce(t, t.open.back());
}

void region_entered(ThreadState& t) {
  Recording& r = *g_process.recording.load();
  if (t.open.empty()) {
    r.segment.update_clock_pair();
    if (g_process.has_python) r.modules.look_again();
    drop_renamed_modules(t);
    const Steps::Entry entry{grad_mode(), in_backward(), in_optimizer_step(), r.weights.changed()};
    const Steps::Entered entered = r.steps.outermost_enter(g_process.python, entry);
    t.entered_in = entered.era;
    if (entered.step_begins) {
      r.segment.header().steps.store(r.steps.current(), std::memory_order_relaxed);
      mark(t, lanes::EventKind::kStep, 0, static_cast<std::uint8_t>(entered.reason));
    }
    operators::region_begins(t, entered.step_begins);
  }
  OpenRegion region;
  region.stack = present_stack(t, region.stack_hash);
  region.serial = r.region_serial.fetch_add(1, std::memory_order_relaxed) + 1;
  region.device = t.entering_device;
  t.open.push_back(region);
  t.region_serial = region.serial;
  t.region_known = false;
}

void regions_inherited(ThreadState& t, const ThreadState& parent) {
  Recording& r = *g_process.recording.load();
  t.switched = parent.switched;
  t.enabled_by_raw = parent.enabled_by_raw;  // to ask PyTorch gives no answer inside an operator's kernel
  t.raw_stack = inherited_stack(t, parent, parent.raw_stack_hash);
  t.raw_stack_hash = parent.raw_stack_hash;
  for (const OpenRegion& known : parent.open) {
    OpenRegion& region = t.open.emplace_back(known);
    region.flags = lanes::kFlagInherited;
    region.stack = inherited_stack(t, parent, known.stack_hash);
    region.serial = t.region_serial = r.region_serial.fetch_add(1, std::memory_order_relaxed) + 1;
    if (!known.announced) continue;  // it will be
    region.as_told.stack = region.stack;
    region.as_told.parent = t.open.size() < 2 ? 0 : t.open[t.open.size() - 2].definition;
    region.definition = define(region.as_told);
    mark(t, lanes::EventKind::kRegionEnter, region.definition, region.flags);
  }
  const Steps::Entry entry{grad_mode(), in_backward(), in_optimizer_step(), false};
  if (!t.open.empty()) t.entered_in = r.steps.outermost_enter(g_process.python, entry).era;
}

void region_left(ThreadState& t) {
  Recording& r = *g_process.recording.load();
  if (t.open.empty()) return;
  if (!t.open.back().announced) announce(t, t.open.back());
  mark(t, lanes::EventKind::kRegionExit, t.open.back().definition, t.open.back().flags);
  t.open.pop_back();
  t.region_serial = t.open.empty() ? 0 : t.open.back().serial;
  t.region_known = false;
  if (t.open.empty()) r.steps.outermost_exit(t.entered_in);
}

void cache_cleared(ThreadState& t) {
  lanes::SegmentHeader& h = g_process.recording.load()->segment.header();
  const std::uint64_t entries = h.cache_entries.exchange(0, std::memory_order_relaxed);
  const std::uint64_t bytes = h.cache_bytes.exchange(0, std::memory_order_relaxed);
  h.cache_clears.fetch_add(1, std::memory_order_relaxed);
  mark(t, lanes::EventKind::kCacheClear, 0, 0, bytes, lanes::LaneWriter::saturate(entries));
}

}  // namespace castscope::observe
