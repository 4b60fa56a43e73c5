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

struct DamagedSpool {
  std::string path;
  std::string why;  // a sentence with the path
};

// The files that relays left in the spool, each list with the oldest first. Files that castscope did not write are in
// none of the lists.
struct InSpool {
  std::vector<relay::Waiting> waiting;
  std::vector<DamagedSpool> damaged;  // at its beginning: nobody knows where it is to go
  std::vector<std::string> in_use;    // another castscope is at work with it: it sends it, or records its job
  std::vector<std::string> paths() const;
};
InSpool in_spool();

// By its name alone, since one that is in use is not read.
bool is_of_run(const std::string& path, const std::string& run_id);

// Tells of it, a line for each of: the file, when its run began, its size, the collector that it goes to.
std::string told(const relay::Waiting& one, std::int64_t now);
std::string told(const DamagedSpool& one);

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
