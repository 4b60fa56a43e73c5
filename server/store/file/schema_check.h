// Whether the tables of a run file are those that castscope makes. Anybody can put a view in the place of a table, and
// reading a view may take for ever.
#pragma once

#include "absl/status/status.h"
#include "server/store/file/sqlite.h"

namespace castscope::store {

// Refuses a file in which a table of castscope's is something else, or that has triggers, which writing would start.
// What else is in the file is not looked at, since nothing of it is read.
absl::Status check_schema(const Database&);

}  // namespace castscope::store
