// The events of steps that an earlier life of the file had received, and had not written when it ended: the last steps
// of a process stay open for a while (trackers/step_tracker.h).
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <span>

#include "absl/status/statusor.h"
#include "agent/lanes/format.h"
#include "server/store/file/sqlite.h"
#include "server/store/run/ids.h"

namespace castscope::store {

// Calls `take` with the lane and the events of each kept block of the process that has events of steps after `settled`,
// in the order in which the blocks came; -1 = no step was written. Returns the lanes of which the file still has every
// event of those steps.
absl::StatusOr<std::set<std::uint32_t>> read_open_steps(
    const Database&, ProcessId, std::int64_t settled,
    const std::function<void(std::uint32_t lane, std::span<const lanes::Event>)>& take);

}  // namespace castscope::store
