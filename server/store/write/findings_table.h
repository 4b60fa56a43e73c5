// Keeps what rules found in the findings table: for whoever reads a run file by SQL, and for a run that is looked
// at while it goes on. Reports judge anew.
#pragma once

#include <span>

#include "absl/status/status.h"
#include "server/store/file/sqlite.h"
#include "server/store/run/run_data.h"

namespace castscope::store {

absl::Status write_findings(Database&, std::span<const Finding>);  // instead of those before

}  // namespace castscope::store
