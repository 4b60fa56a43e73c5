// The part of read_run_data() that reads what deep steps saw.
#pragma once

#include "absl/status/status.h"
#include "server/store/run_data.h"
#include "server/store/sqlite.h"

namespace castscope::store {

absl::Status read_deep(const Database&, RunData&);
// Whether every number in it may be used as an index; wants the rest of the data.
bool deep_fits(const RunData&);

}  // namespace castscope::store
