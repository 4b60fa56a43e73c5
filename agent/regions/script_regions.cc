#include "agent/regions/script_regions.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "agent/regions/region_steps.h"
#include "agent/regions/regions.h"
#include "agent/session/call_stack.h"
#include "agent/session/marks.h"
#include "agent/torch/autocast_state.h"

namespace castscope::agent {
namespace {

Recording& recording() { return *g_process.recording.load(); }

// The region of eager code around the script, as it holds for a conversion on this device.
std::uint32_t region_around(ThreadState& t, std::uint8_t device) {
  return t.open.empty() && t.enabled_by_raw[device % 32] != 1 ? 0 : region_of_conversion(t, device);
}

std::uint32_t nesting_of(const ThreadState& t, const script::Region& region) {
  std::uint32_t nesting = 1 + static_cast<std::uint32_t>(t.open.size());
  for (const script::Region* outer = region.around.get(); outer != nullptr; outer = outer->around.get()) ++nesting;
  return nesting;
}

lanes::RegionDefinition describe(const script::Region& region, std::uint32_t parent, std::uint32_t nesting) {
  lanes::RegionDefinition d{};
  d.stack = recording().definitions.stack(region.place);
  d.parent = parent;
  d.nesting = nesting;
  d.device = region.device;
  d.dtype = region.dtype;
  d.enabled = region.enabled && region.planned;
  d.kind = lanes::RegionKind::kScript;
  if (region.enabled && !region.planned) d.flags = lanes::kRegionAskedEnabled | lanes::kRegionScriptOff;
  return d;
}

// Defines a region whose place in the code is not known by the place of the call. A graph whose regions have no place
// was never looked at by the pass (torch.jit.optimized_execution(False)), and casts nothing; an exception may come from
// a place where nothing is known.
std::uint32_t define_at_call(const MayWait& may_wait, ThreadState& t, const ScriptRegion& seen, bool raised) {
  script::Region region;
  region.device = seen.device;
  region.dtype = seen.dtype;
  region.enabled = seen.enabled;
  region.planned = raised;
  lanes::RegionDefinition d = describe(region, region_around(t, seen.device), nesting_of(t, region));
  RawStack raw;
  capture_stack(t, raw);
  d.stack = recording().definitions.stack(may_wait, raw);
  return recording().definitions.region(d);
}

// Deciding about steps needs to know whether there is an optimizer, which Python tells. The interpreter runs without
// the GIL; a thread that did not come from Python stays without it.
class GilForSteps {
 public:
  GilForSteps(const MayWait& may_wait, const ThreadState& t) {
    if (!g_process.has_python || !grad_mode() || recording().steps.knows_optimizer()) return;
    if (PythonStack::top(g_process.python, t.python_thread) != nullptr) gil_.emplace(may_wait, g_process.python);
  }

 private:
  std::optional<Gil> gil_;
};

void announce(ThreadState& t, OpenScriptRegion& open, std::uint32_t definition) {
  open.definition = definition;
  const std::uint32_t serial = std::exchange(t.region_serial, open.serial);
  mark(t, lanes::EventKind::kRegionEnter, definition);
  if (&open != &t.script_open.back()) t.region_serial = serial;
}

OpenScriptRegion& enter(const MayWait& may_wait, ThreadState& t, const ScriptRegion& region) {
  const bool outermost = t.open.empty() && t.script_open.empty();
  if (outermost) {
    const GilForSteps gil(may_wait, t);
    outermost_entered(t, /*stands=*/false, /*place=*/0);
  }
  OpenScriptRegion open;
  open.object = region.object;
  open.serial = recording().region_serial.fetch_add(1, std::memory_order_relaxed) + 1;
  t.script_open.push_back(open);
  // With a region of eager code around it, its own number means nothing until it is told.
  if (t.open.empty()) t.region_serial = open.serial;
  if (outermost) t.script_stay = open.serial;
  return t.script_open.back();
}

// The regions within it were left elsewhere.
OpenScriptRegion& find(const MayWait& may_wait, ThreadState& t, const ScriptRegion& region) {
  for (std::size_t i = t.script_open.size(); i-- > 0;) {
    if (t.script_open[i].object != region.object) continue;
    t.script_open.resize(i + 1);
    return t.script_open.back();
  }
  return enter(may_wait, t, region);  // it was entered in another thread, and goes on in this one
}

void pop(ThreadState& t) {
  t.script_open.pop_back();
  t.region_serial = innermost_serial(t);
  if (t.script_open.empty() && t.open.empty()) recording().steps.outermost_exit(t.entered_in);
}

}  // namespace

void script_region_entered(const MayWait& may_wait, ThreadState& t, const ScriptRegion& region) {
  enter(may_wait, t, region);
}

void script_region_left(const MayWait& may_wait, ThreadState& t, const ScriptRegion& region,
                        const script::RegionPointer& place, bool raised) {
  OpenScriptRegion& open = find(may_wait, t, region);
  const script::RegionPointer left = raised && open.expected != nullptr ? open.expected : place;
  if (open.definition == 0)
    announce(t, open, left == nullptr ? define_at_call(may_wait, t, region, raised) : script_region(t, *left));
  if (raised && left != nullptr && t.script_open.size() > 1) (&open - 1)->expected = left->around;
  t.region_serial = open.serial;
  mark(t, lanes::EventKind::kRegionExit, open.definition);
  pop(t);
}

void script_ended(ThreadState& t) {
  while (!t.script_open.empty()) pop(t);
  t.script_stay = 0;
}

// The regions around it in the same graph are told with it.
void script_casts(ThreadState& t, std::uint32_t site) {
  if (t.script_open.empty() || t.script_open.back().definition != 0) return;
  const auto known = t.script_sites.find(site);
  if (known == t.script_sites.end()) return;
  const script::Region* region = known->second.get();
  std::size_t outermost = t.script_open.size() - 1;
  while (outermost > 0 && region->around != nullptr && t.script_open[outermost - 1].definition == 0) {
    --outermost;
    region = region->around.get();
  }
  for (std::size_t i = outermost; i < t.script_open.size(); ++i) {
    region = known->second.get();
    for (std::size_t inner = t.script_open.size() - 1; inner > i; --inner) region = region->around.get();
    announce(t, t.script_open[i], script_region(t, *region));
  }
}

std::uint32_t script_region(ThreadState& t, const script::Region& region) {
  const std::uint32_t parent =
      region.around != nullptr ? script_region(t, *region.around) : region_around(t, region.device);
  const std::uint64_t key = mix(reinterpret_cast<std::uint64_t>(&region), parent, t.open.size());
  if (const auto known = t.script_regions.find(key); known != t.script_regions.end()) return known->second;
  const std::uint32_t id = recording().definitions.region(describe(region, parent, nesting_of(t, region)));
  t.script_regions.emplace(key, id);
  return id;
}

namespace {

// A task of torch.jit.fork has no Python frames around it.
bool runs_python(const ThreadState& t) {
  const void* caller = t.script == nullptr ? nullptr : t.script->python_frame;
  return g_process.has_python && PythonStack::top(g_process.python, t.python_thread) != caller;
}

}  // namespace

std::shared_ptr<const script::NodePlace> script_place(const ThreadState& t) {
  return !script::in_use() || runs_python(t) ? nullptr : script::present_place();
}

script::RegionPointer region_left_by_python(const ThreadState& t) {
  if (t.script == nullptr || t.script->node != nullptr || !runs_python(t)) return nullptr;
  const auto place = script::present_place();
  return place == nullptr ? nullptr : place->region;
}

std::uint32_t region_of_place(ThreadState& t, const script::NodePlace& place) {
  if (place.region == nullptr || (in_backward() && t.script_open.empty())) return 0;
  return script_region(t, *place.region);
}

}  // namespace castscope::agent
