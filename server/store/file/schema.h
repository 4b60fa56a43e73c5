// The tables and views of a run file. docs/run-file.md explains them to whoever opens one with the sqlite3 shell.
#pragma once

#include <cstdint>

#include "agent/lanes/gauges.h"
#include "server/store/run/row_definitions.h"

namespace castscope::store {

inline constexpr std::int32_t kApplicationId = 0x43415354;  // "CAST": PRAGMA application_id
// PRAGMA user_version; a file of another one is refused, unless is_readable().
inline constexpr std::int32_t kFormat = 14 + static_cast<std::int32_t>(lanes::kAddedGauges) + kAddedDefinitions;

// Its tables are those of format 20, and its checksums weaker (checksum.h). It is read as long as the tables stay so.
inline constexpr std::int32_t kWeaklyCheckedFormat = 19;
constexpr bool is_readable(std::int64_t format) {
  return format == kFormat || (format == kWeaklyCheckedFormat && kFormat == 20);
}

// The keys of the table `run` that tell the run's end, for SQL.
#define CASTSCOPE_END_KEYS "('end_epoch_ns', 'exit_code', 'signal', 'end_seen', 'end_unseen')"

extern const char* const kTables;
extern const char* const kViews;
// The tables of deep steps (docs/decisions/deep-steps.md): deep_schema.cc. Their views want those of kViews.
extern const char* const kDeepTables;
extern const char* const kDeepViews;
// The tables of GPUs: gpu_schema.cc. Their views want those of kDeepViews.
extern const char* const kGpuTables;
extern const char* const kGpuViews;

}  // namespace castscope::store
