// What waits on disk for a collector that did not take it, for `castscope recover`.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/cli/recording/recording.h"
#include "server/relay/sending/bring_home.h"

namespace castscope::cli {

// All that waits, the oldest first. What cannot be read, or is in somebody's hands, is left out.
std::vector<relay::Waiting> waiting();

// Tells of it, a line for each of: the file, when its run began, its size, the collector that it goes to.
std::string told(const relay::Waiting& one, std::int64_t now);

// "…: 3.2 MB of run …, for the collector at …"
std::string title(const relay::Waiting& one);

// Sends each to its collector, or all to this one if it has an address: eight side by side, since each waits for its
// collector's disk. Where a file alone names the collector, the token goes there only if it was given for it. Calls
// `sent` for each, in their order, as soon as it and those before it are done; `done` counts those that are done in any
// order.
void send_home(const std::vector<relay::Waiting>& all, const CollectorAddress& collector,
               std::atomic<std::size_t>& done,
               const std::function<void(const relay::Waiting&, const absl::StatusOr<relay::Homecoming>&)>& sent);

}  // namespace castscope::cli
