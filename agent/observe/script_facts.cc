#include "agent/observe/script_facts.h"

#include <c10/core/ScalarType.h>

#include <algorithm>
#include <exception>
#include <string>

#include "agent/observe/call_stack.h"
#include "agent/observe/region_in_source.h"
#include "agent/script/misplaced.h"

namespace castscope::observe {
namespace {

std::string place_text(const script::Region& region) {
  if (region.place.empty()) return {};
  return script::file_of(region.place.front()) + ":" + std::to_string(region.place.front().line);
}

// Of a place in scripted code, and the Python code that calls it. That may have to be asked for its names, with the
// GIL.
std::uint32_t stack_of(ThreadState& t, Definitions& definitions, const std::vector<script::Frame>& place,
                       bool may_ask) {
  RawStack raw;
  if (g_process.has_python) PythonStack::capture(g_process.python, t.python_thread, raw);
  if (!may_ask && !definitions.pinned(raw)) raw = {};
  raw.script = place;
  for (const script::Frame& frame : place) raw.hash = mix(raw.hash, std::hash<std::string>{}(frame.file), frame.line);
  return definitions.stack(raw);
}

// Takes off what the tracer runs, and the tracer.
void cut_to_tracer(Definitions& definitions, RawStack& raw) {
  std::uint32_t first = raw.depth;
  for (std::uint32_t i = 0; i < raw.depth; ++i)
    if (definitions.place(raw.frames[i].code).file.ends_with("torch/jit/_trace.py")) first = i + 1;
  raw.hash = mix(raw.hash, first, raw.depth);
  std::copy(raw.frames + first, raw.frames + raw.depth, raw.frames);
  raw.depth -= first;
}

}  // namespace

void note_script_fact(FactSeen seen, const std::vector<script::Frame>& place) noexcept try {
  if (g_process.stopped.load(std::memory_order_relaxed)) return;
  ThreadState* t = thread_state();
  if (t == nullptr) return;
  seen.stack = stack_of(*t, g_process.recording.load()->definitions, place, false);
  if (seen.stack != 0) note_fact(*t, seen);
} catch (const std::exception&) {  // out of memory: it is not told
}

NamedByNode name_by_node(Recording& r, const script::NodeNote& node, lanes::SiteDefinition& site) {
  site.call_site = r.definitions.planned_call_site(node.op, node.argument, node.argument_name);
  if (node.region != nullptr) {
    lanes::RegionDefinition region{};
    region.stack = r.definitions.stack(node.region->place);
    region.parent = site.region;
    region.nesting = site.region == 0 ? 1 : 2;
    region.device = node.region->device;
    region.dtype = node.region->dtype;
    region.enabled = node.region->enabled;
    region.kind = lanes::RegionKind::kScript;
    site.region = r.definitions.region(region);
    if (site.phase == lanes::Phase::kOther) site.phase = lanes::Phase::kForward;
  }
  return {node.op, node.argument_name, site.phase == lanes::Phase::kBackward ? lanes::Role::kUnknown : node.role};
}

namespace {

void tell_of_decorated(lanes::FactKind kind, std::string_view text, const script::Frame& place) {
  ThreadState* t = thread_state();
  if (t == nullptr) return;
  const std::uint32_t stack = stack_of(*t, g_process.recording.load()->definitions, {place}, true);
  note_fact(*t, {.kind = kind, .text = text, .stack = stack});
}

}  // namespace

void tell_dropped_decorator(std::string_view decorator, const script::Frame& place) {
  tell_of_decorated(lanes::FactKind::kScriptDropsDecorator, decorator, place);
}

void tell_refused_function(std::string_view error, const script::Frame& place) {
  tell_of_decorated(lanes::FactKind::kScriptRefused, error, place);
}

void tell_lost_region(ThreadState& t, const script::Region& region) {
  Definitions& definitions = g_process.recording.load()->definitions;
  RawStack raw;
  capture_stack(t, raw);
  definitions.stack(raw);  // pins its code
  cut_to_tracer(definitions, raw);
  const std::string place = place_text(region);
  note_fact(t, {.kind = lanes::FactKind::kTraceDropsRegion, .text = place, .stack = definitions.stack(raw)});
}

void tell_disabled(ThreadState& t, const script::NodeNote& node, const std::vector<script::Frame>& lines,
                   std::uint32_t id, const lanes::SiteDefinition& site) {
  const auto dtype = static_cast<c10::ScalarType>(site.to);
  if (dtype != c10::ScalarType::Half && dtype != c10::ScalarType::BFloat16) return;
  FactSeen seen{.kind = lanes::FactKind::kScriptIgnoresDisable, .subject = id, .stack = site.stack};
  std::string place;
  if (node.disabled != nullptr) {
    if (node.disabled->device != site.device) return;
    place = place_text(*node.disabled);
    if (node.traced) seen.kind = lanes::FactKind::kTraceDropsDisable;
  } else if (node.loaded) {
    const script::Frame region = disabled_in_source(lines, site.device);
    if (region.file.empty()) return;
    place = region.file + ":" + std::to_string(region.line);
    seen.kind = lanes::FactKind::kTraceDropsDisable;
    seen.detail = 1;
  } else {
    return;
  }
  seen.text = place;
  note_fact(t, seen);
}

}  // namespace castscope::observe
