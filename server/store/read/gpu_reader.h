// The part of read_run_data() that reads what GPUs did.
#pragma once

#include "absl/status/status.h"
#include "server/store/file/sqlite.h"
#include "server/store/run/run_data.h"

namespace castscope::store {

absl::Status read_gpu(const Database&, RunData&);

}  // namespace castscope::store
