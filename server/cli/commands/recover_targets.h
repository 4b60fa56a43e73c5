// Which runs and files `castscope recover` is about.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/cli/job/run_directory.h"
#include "server/cli/leftovers/spooled.h"

namespace castscope::cli {

struct LeftOver {
  std::vector<RunDirectory> directories;
  std::vector<relay::Waiting> spools;
  std::vector<DamagedSpool> damaged;
};

// All of this user's, where no run is named; run directories that hold nothing are among them if they are to be
// deleted. Says what is not among it, and why.
LeftOver everything(bool to_be_deleted);

// Those that the user named.
absl::StatusOr<LeftOver> all_named(const std::vector<std::string>& names);

}  // namespace castscope::cli
