// Regions that torch.jit.trace forgets.
#pragma once

#include "agent/session/thread_state.h"
#include "agent/torchscript/node_facts.h"

namespace castscope::agent {

// The code in this region is being traced, and called scripted code: tells so at the call that traces.
void tell_lost_region(const MayWait& may_wait, ThreadState& t, const script::Region& region);

}  // namespace castscope::agent
