// castscope can let go of a process and watch it again later (start/attaching.h). What it knew of a thread's regions
// holds no longer then.
#pragma once

#include "agent/session/process.h"

namespace castscope::agent {

// Begins anew with the settings that hold in this thread. Does nothing where they were known all the time.
void regions_after_gap(ThreadState& t);
inline void know_regions(ThreadState& t) {
  if (t.span != g_process.span.load(std::memory_order_relaxed)) [[unlikely]]
    regions_after_gap(t);
}

// castscope lets go within the thread's regions: their record ends here.
void regions_let_go(ThreadState& t);

}  // namespace castscope::agent
