// The part of read_run_data() that reads what GPUs did.
#pragma once

#include "absl/status/status.h"
#include "server/store/run_data.h"
#include "server/store/sqlite.h"

namespace castscope::store {

absl::Status read_gpu(const Database&, RunData&);

}  // namespace castscope::store
