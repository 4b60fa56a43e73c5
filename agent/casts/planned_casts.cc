#include "agent/casts/planned_casts.h"

#include <c10/core/ScalarType.h>

#include <algorithm>
#include <exception>
#include <string>

#include "agent/casts/region_in_source.h"
#include "agent/naming/module_names.h"
#include "agent/regions/script_regions.h"
#include "agent/session/facts.h"
#include "agent/torch/torch_python.h"
#include "agent/torchscript/interpreter_state.h"
#include "agent/torchscript/misplaced.h"
#include "agent/torchscript/tracing.h"

namespace castscope::agent {

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

bool is_rehearsed_by_tracer(Definitions& definitions, const RawStack& stack) {
  return script::is_tracing() ||
         definitions.passes_through(stack, [](const Definitions::Place& at) { return traces_code(at.file); });
}

void tell_disabled(const MayWait& may_wait, ThreadState& t, const script::NodeNote& node,
                   const std::vector<CodeLine>& lines, std::uint32_t id, const lanes::SiteDefinition& site) {
  const auto is_low = [](std::uint8_t dtype) {
    const auto type = static_cast<c10::ScalarType>(dtype);
    return type == c10::ScalarType::Half || type == c10::ScalarType::BFloat16;
  };
  // Eager autocast casts upwards, too: it gives low-precision arguments to an operator of its float32 list in float32.
  const bool held_in_float = site.cause == lanes::Cause::kAutocast && is_low(site.from);
  if (!is_low(site.to) && !held_in_float) return;
  FactSeen seen{.kind = lanes::FactKind::kScriptIgnoresDisable, .subject = id, .stack = site.stack};
  std::string place;
  if (node.disabled != nullptr) {
    if (node.disabled->device != site.device) return;
    place = script::place_text(*node.disabled);
    if (node.traced) seen.kind = lanes::FactKind::kTraceDropsDisable;
  } else if (node.loaded) {
    const CodeLine region = disabled_in_source(may_wait, lines, site.device);
    if (region.file.empty()) return;
    place = region.file + ":" + std::to_string(region.line);
    seen.kind = lanes::FactKind::kTraceDropsDisable;
    seen.detail = 1;
  } else {
    return;
  }
  seen.text = place;
  note_fact(may_wait, t, seen);
}

}  // namespace castscope::agent
