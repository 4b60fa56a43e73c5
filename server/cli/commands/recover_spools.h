// `castscope recover` sends or deletes the files of the spool with these functions, and tells the user how it went.
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

// These two return the exit status. The first says what stands in the way of sending these.
int say_damaged(const std::vector<DamagedSpool>& all);
int discard_spools(const std::vector<relay::Waiting>& all, const std::vector<DamagedSpool>& damaged);

}  // namespace castscope::cli
