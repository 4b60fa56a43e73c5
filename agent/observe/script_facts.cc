#include "agent/observe/script_facts.h"

#include <c10/core/ScalarType.h>

#include <algorithm>
#include <exception>
#include <string>

#include "agent/observe/call_stack.h"
#include "agent/observe/module_names.h"
#include "agent/observe/region_in_source.h"
#include "agent/observe/script_regions.h"
#include "agent/observe/torch_python.h"
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
    if (traces_code(definitions.place(raw.frames[i].code).file)) first = i + 1;
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

NamedByNode name_by_node(ThreadState& t, const script::NodeNote& node, const script::NodePlace* place,
                         lanes::SiteDefinition& site) {
  site.call_site =
      g_process.recording.load()->definitions.planned_call_site(node.op, node.argument, node.argument_name);
  if (site.cause != lanes::Cause::kScript) return {node.op, node.argument_name, lanes::Role::kUnknown};
  const bool placed = place != nullptr && place->region != nullptr && place->region->enabled;
  const script::Region* region = placed ? place->region.get() : node.region.get();
  if (region != nullptr) {
    site.region = script_region(t, *region);
    if (site.phase == lanes::Phase::kOther) site.phase = lanes::Phase::kForward;
  }
  return {node.op, node.argument_name, site.phase == lanes::Phase::kBackward ? lanes::Role::kUnknown : node.role};
}

std::optional<lanes::Role> role_of_planned_cast() {
  const auto node = script::present_note();
  return node == nullptr || !node->is_cast ? std::nullopt : std::optional(node->role);
}

std::uint32_t module_of_place(const RawStack& raw, std::uint32_t python, const script::NodePlace* place) {
  if (place == nullptr || place->module == nullptr) return python;
  Definitions& definitions = g_process.recording.load()->definitions;
  const script::Module& module = *place->module;
  const bool below =
      raw.module_frame != nullptr &&
      is_script_module(type_of(static_cast<const PyObject*>(PythonStack::self_of(g_process.python, raw.module_frame))));
  if (below) return module.path.empty() ? python : definitions.module_below(python, module.path, module.type);
  return definitions.module(module.path, module.type, module.root_type, 1);
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

bool is_rehearsed_by_tracer(Definitions& definitions, const RawStack& stack) {
  return script::is_tracing() ||
         definitions.passes_through(stack, [](const Definitions::Place& at) { return traces_code(at.file); });
}

void tell_disabled(ThreadState& t, const script::NodeNote& node, const std::vector<script::Frame>& lines,
                   std::uint32_t id, const lanes::SiteDefinition& site) {
  const auto is_low = [](std::uint8_t dtype) {
    const auto type = static_cast<c10::ScalarType>(dtype);
    return type == c10::ScalarType::Half || type == c10::ScalarType::BFloat16;
  };
  // Eager autocast casts up, too: to an operator of its float32 list it gives low arguments in float32.
  const bool held_in_float = site.cause == lanes::Cause::kAutocast && is_low(site.from);
  if (!is_low(site.to) && !held_in_float) return;
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
