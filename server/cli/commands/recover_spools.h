// What `castscope recover` does with files of the spool.
#pragma once

#include <vector>

#include "server/cli/commands/exit_statuses.h"
#include "server/cli/leftovers/spooled.h"

namespace castscope::cli {

struct SentSpools {
  bool all = true;    // no file is left
  bool whole = true;  // each could be read to its end
  int status() const { return all && whole ? 0 : kIncompleteData; }
};

// Sends them home, and says of each how it went.
SentSpools send_spools(const std::vector<relay::Waiting>& all, const CollectorAddress& collector);

// Deletes it, says so, and returns the exit status.
int discard_spool(const relay::Waiting& one);

}  // namespace castscope::cli
