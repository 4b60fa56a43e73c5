// Casts that are part of TorchScript's graphs, and what the graphs tell about them.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "agent/session/process.h"
#include "agent/torchscript/node_facts.h"

namespace castscope::agent {

// Names a cast that is to be a site and was made for a node of a graph: whose argument it serves, and in which region
// of the graph. `op` and `argument` are the node's.
struct NamedByNode {
  std::string op, argument;
  lanes::Role role{};  // kUnknown: not told
};
NamedByNode name_by_node(ThreadState& t, const script::NodeNote& node, const script::NodePlace* place,
                         lanes::SiteDefinition& site);
// Looks at the conversion that TorchScript's interpreter is running. If TorchScript's autocast, or eager autocast while
// the code was traced, put it into the graph for the operator that takes its result: the role of what it converts
// (kUnknown: the tensor tells). nullopt: the code itself has the conversion.
std::optional<lanes::Role> role_of_planned_cast();
// The module of a node at this place, below the module that Python calls: `python` is the number of the innermost one
// there.
std::uint32_t module_of_place(const RawStack& raw, std::uint32_t python, const script::NodePlace* place);

// Tells of a cast to lower precision where the code has autocast off. `lines` are the graph's.
void tell_disabled(const MayWait& may_wait, ThreadState& t, const script::NodeNote& node,
                   const std::vector<CodeLine>& lines, std::uint32_t id, const lanes::SiteDefinition& site);

// Returns whether torch.jit.trace runs this code, to record it or to check the trace; `stack` is pinned.
bool is_rehearsed_by_tracer(Definitions& definitions, const RawStack& stack);

}  // namespace castscope::agent
