// The order in which reports tell of a run's processes: by rank, host and start. Their ids follow the order in which
// they were first heard of, which chance decides among ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "server/store/run/run_data.h"

namespace castscope::store {

// Of a launcher that sets RANK; nothing: it is not known.
std::optional<std::int64_t> rank_of(const Process&);

// Processes with a rank come first.
std::vector<ProcessId> processes_in_order(const RunData&);
// The place of each process in that order, from 0.
Table<std::size_t, Process> places_in_order(const RunData&);

}  // namespace castscope::store
