// The tables source_files and source_lines of a run file.
#pragma once

#include "absl/status/status.h"
#include "server/store/file/sqlite.h"
#include "server/store/run/source_lines.h"

namespace castscope::store {

absl::Status write_source(Database&, const SourceLines&);  // instead of what is there
absl::Status read_source(const Database&, SourceLines&);

}  // namespace castscope::store
