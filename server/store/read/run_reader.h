// Reads run files whole. Nothing in a file is trusted: it may come from anywhere.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "server/store/file/sqlite.h"
#include "server/store/run/run_data.h"

namespace castscope::store {

// Reads the run of any run file, finished, running, or left behind by a killed writer. A file that is missing,
// truncated, foreign or of a newer castscope is a sentence.
absl::StatusOr<RunData> read_run(const std::string& path);
// The same, and of a file that is damaged or cut short what can be read: RunData::damage says what is
// missing.
absl::StatusOr<RunData> read_as_it_is(const std::string& path);

// Reads a file that is open, which may be in the midst of being written.
absl::StatusOr<RunData> read_run_data(const Database&);

}  // namespace castscope::store
