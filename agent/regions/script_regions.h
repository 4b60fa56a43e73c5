// The autocast regions of scripts, as TorchScript's interpreter enters and leaves them. They are no state of a thread:
// the casts are in the graph, and eager autocast around the call stays what it is. For steps, deep steps and the report
// they are regions like any other: one that no other region is around is an outermost one.
//
// Which region of the code it is, its end tells, or a cast in it before that: only then is it told. A pass over the
// graph may have moved an operator to before a region's begin or behind its end; the region that such a one belongs to
// is the one that its code is in.
#pragma once

#include <cstdint>
#include <memory>

#include "agent/session/process.h"
#include "agent/torchscript/node_facts.h"

namespace castscope::observe {

// As its object has it.
struct ScriptRegion {
  const void* object = nullptr;
  std::uint8_t device = 0, dtype = 0;
  bool enabled = false;
};
void script_region_entered(ThreadState& t, const ScriptRegion& region);
// `place`: of the code that is left; nullptr where that is not known. `raised`: by an exception, at the node that
// `place` is of.
void script_region_left(ThreadState& t, const ScriptRegion& region, const script::RegionPointer& place, bool raised);
// The thread's outermost interpreter ends. What is still open goes on in another thread, or nowhere.
void script_ended(ThreadState& t);

// A cast of this site is about to be told.
void script_casts(ThreadState& t, std::uint32_t site);

// The definition of a region of the code, as it is in this thread now.
std::uint32_t script_region(ThreadState& t, const script::Region& region);
// The place of the node that the interpreter is at, unless Python code runs that it called; nullptr: not known.
std::shared_ptr<const script::NodePlace> script_place(const ThreadState& t);
// Where Python code runs that a script called: the region in the script that the call stands in; nullptr: none.
script::RegionPointer region_left_by_python(const ThreadState& t);
// The region that the node's code is in. In backward, whose graphs take the places of forward's operators, only while
// the interpreter is in a region. 0: none.
std::uint32_t region_of_place(ThreadState& t, const script::NodePlace& place);

}  // namespace castscope::observe
