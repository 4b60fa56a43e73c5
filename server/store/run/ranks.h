// How many ranks a run has, and how many of them were seen. Only ranks of the machines that tell of themselves count:
// castscope does not know of others.
#pragma once

#include "server/store/run/run_data.h"

namespace castscope::store {

// What relays told of launchers, and the ranks of processes that learned theirs later than that (a worker of
// multiprocessing, which its script numbers). Zeros = the run has no ranks.
RankCount ranks_of(const RunData&);

}  // namespace castscope::store
