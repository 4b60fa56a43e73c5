// The autocast regions of scripts, as TorchScript's interpreter enters and leaves them. They are not a state of a
// thread: the casts are in the graph, and eager autocast around the call stays as it is. For steps, deep steps and the
// report they are regions like any other: one without another region around it is an outermost one.
//
// The end of a region tells which region of the code it is, or a cast in it before the end: the region is told only
// then. A pass over the graph may have moved an operator to before a region's begin or behind its end; such an operator
// belongs to the region that its code is in.
#pragma once

#include <cstdint>
#include <memory>

#include "agent/session/process.h"
#include "agent/torchscript/node_facts.h"

namespace castscope::agent {

// The fields that the region's object has.
struct ScriptRegion {
  const void* object = nullptr;
  std::uint8_t device = 0, dtype = 0;
  bool enabled = false;
};
void script_region_entered(const MayWait& may_wait, ThreadState& t, const ScriptRegion& region);
// `place`: the code of the region that is left; nullptr where that is not known. `raised`: an exception ends it, at the
// node that `place` belongs to.
void script_region_left(const MayWait& may_wait, ThreadState& t, const ScriptRegion& region,
                        const script::RegionPointer& place, bool raised);
// The thread's outermost interpreter ends. Regions that are still open go on in another thread, or nowhere.
void script_ended(ThreadState& t);

// A cast of this site is about to be told.
void script_casts(ThreadState& t, std::uint32_t site);

// The definition of a region of the code, with what is around it in this thread now.
std::uint32_t script_region(ThreadState& t, const script::Region& region);
// The place of the node that the interpreter is at, unless that node has called Python code, which runs now; nullptr:
// not known.
std::shared_ptr<const script::NodePlace> script_place(const ThreadState& t);
// If a script has called Python code, which runs now: the region in the script that the call stands in. nullptr: there
// is none.
script::RegionPointer region_left_by_python(const ThreadState& t);
// The region that the node's code is in; 0: none. In backward, whose graphs take the places of forward's operators,
// only while the interpreter is in a region.
std::uint32_t region_of_place(ThreadState& t, const script::NodePlace& place);

}  // namespace castscope::agent
