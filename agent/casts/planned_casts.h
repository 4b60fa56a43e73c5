// Casts that TorchScript's graphs have, and what those tell of them.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "agent/session/process.h"
#include "agent/torchscript/node_facts.h"

namespace castscope::observe {

// The cast that is to be a site is made for a node of a graph, at this place: whose argument it serves, in which region
// of the graph. `op` and `argument` as the node has them.
struct NamedByNode {
  std::string op, argument;
  lanes::Role role{};  // kUnknown: not told
};
NamedByNode name_by_node(ThreadState& t, const script::NodeNote& node, const script::NodePlace* place,
                         lanes::SiteDefinition& site);
// The conversion that TorchScript's interpreter is at was put into the graph for the operator that takes its result, by
// TorchScript's autocast or by eager's while the code was traced: the role of what it converts (kUnknown: the tensor
// tells). nullopt: the code has it.
std::optional<lanes::Role> role_of_planned_cast();
// The module of a node at this place, below what Python calls: `python` is the number of the innermost module there.
std::uint32_t module_of_place(const RawStack& raw, std::uint32_t python, const script::NodePlace* place);

// A cast to lower precision where the code has autocast off. `lines` are the graph's. Takes the GIL.
void tell_disabled(ThreadState& t, const script::NodeNote& node, const std::vector<CodeLine>& lines, std::uint32_t id,
                   const lanes::SiteDefinition& site);

// torch.jit.trace runs this code, to record it or to check the trace; `stack` is pinned.
bool is_rehearsed_by_tracer(Definitions& definitions, const RawStack& stack);

}  // namespace castscope::observe
