// What a collector writes of a run's beginning and end.
#pragma once

#include <string>

#include "server/ingest/run/run_keeper.h"
#include "server/store/write/run_store.h"

namespace castscope::cli {

store::RunStart start_of(const ingest::RunOpening& run);
store::RunEnd end_of(const ingest::RunClosing& closing, store::RunStore& store);
// "; the command ended with exit status 1"
std::string ending_of(const store::RunEnd& end);

}  // namespace castscope::cli
