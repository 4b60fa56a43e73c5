// Regions that torch.jit.trace forgets.
#pragma once

#include "agent/session/thread_state.h"
#include "agent/torchscript/node_facts.h"

namespace castscope::observe {

// Code in this region is being traced, and called scripted code: told at the call that traces.
void tell_lost_region(ThreadState& t, const script::Region& region);

}  // namespace castscope::observe
