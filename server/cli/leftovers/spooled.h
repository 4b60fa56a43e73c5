// What waits on disk for a collector that did not take it, for `castscope recover`.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/cli/recording/recording.h"
#include "server/relay/bring_home.h"

namespace castscope::cli {

// All that waits, the oldest first. What cannot be read, or is in somebody's hands, is left out.
std::vector<relay::Waiting> waiting();

// Tells of it, a line for each of: the file, when its run began, its size, the collector that it goes to.
std::string told(const relay::Waiting& one, std::int64_t now);

// "…: 3.2 MB of run …, for the collector at …"
std::string title(const relay::Waiting& one);

// Sends it to its collector, or to this one if it has an address.
absl::Status send_home(const relay::Waiting& one, const CollectorAddress& collector);

}  // namespace castscope::cli
