// The events of steps that an earlier life of the file had received, and had not written when it ended: the last steps
// of a process stay open for a while (trackers/step_tracker.h).
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "absl/status/status.h"
#include "agent/lanes/format.h"
#include "server/store/file/sqlite.h"
#include "server/store/run/ids.h"

namespace castscope::store {

struct OpenStepEvents {
  std::uint32_t lane = 0;
  bool whole = false;  // every event of the lane in steps after `settled`, up to this block, is still in the file
  std::span<const lanes::Event> events;
};

// Calls `take` for each kept block of the process that has events of steps after `settled`, in the order in which the
// blocks came; -1 = no step was written.
absl::Status read_open_steps(const Database&, ProcessId, std::int64_t settled,
                             const std::function<void(const OpenStepEvents&)>& take);

}  // namespace castscope::store
