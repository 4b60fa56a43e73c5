// Makes the CPU time of a run's steps add up to that of its sites.
#pragma once

#include "absl/status/status.h"
#include "server/store/file/sqlite.h"

namespace castscope::store {

// Steps add up what single events took, sites what counters counted, both in the ticks of one clock. Ticks are turned
// into ns by the rate that is known at the time, and the longer a process runs, the better it is known: an event is
// turned at once, a counter as a whole in the end. So the times of steps are off by some thousandths. Where all casts
// of a process are in its steps, their times are set right by that factor; where events were dropped, nothing is known
// of the rest. Call it once nothing more comes.
absl::Status settle_step_times(const Database&);

}  // namespace castscope::store
