// The graphs that were compiled, with the casts of each; these are counted when the graph runs.
//
// Thread-safety: all functions may be called by any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "agent/compile/graph_casts.h"
#include "agent/compile/trace_log.h"
#include "agent/lanes/definition_records.h"
#include "agent/session/process.h"

namespace castscope::compile {

// A cast that was seen while code was traced, with what a site needs.
struct TracedSite {
  TracedCast cast;
  std::vector<CodeLine> stack;
  std::string op, argument_name;
  std::uint32_t argument = lanes::kUnknownArgument;
  std::uint32_t region = 0;
  lanes::Role role{};
  std::uint8_t device = 0;
  bool parameter = false;
  bool ambient = false;  // the region is around the code, not one that the code opens
  // Where the compiled code enters a region that names no dtype, and this cast serves it; 0 if it serves no such
  // region.
  std::uint32_t default_dtype_stack = 0;
};

enum class Part : std::uint8_t { kForward, kBackward };

void begin(const Compilation& of);

// kBackward means that autocast ran within backward, while the graph of both was traced.
void add_traced(const Compilation& of, Part part, TracedSite site);

// The region of this name ("0/0") was compiled with a backward pass.
bool has_backward(std::string_view id);
void add_graph(const Compilation& of, Part part, std::string_view text);
// The stack, as traced, of a line of the code that Inductor is lowering as `of`.
std::vector<CodeLine> stack_at(const Compilation& of, const Place& place);

// Whether any graph is known, so that calls of regions are of interest.
bool any_graph();
// Called when the region is called, or its backward is evaluated. Returns whether its graph is known.
bool graph_runs(agent::ThreadState& t, std::string_view id, Part part) noexcept;

void hold_graphs();
void release_graphs();

}  // namespace castscope::compile
