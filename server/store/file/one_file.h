// The end of a run file: what is left of it is one file that may be copied anywhere.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "server/store/file/sqlite.h"

namespace castscope::store {

// Puts small blocks of events together, writes the checksum, ends the log, closes. `status`: of what was written
// before; the first error is returned.
absl::Status leave_one_file(Database& database, absl::Status status);

// All of it into a new file, where `database` goes on. Its old one may have no name any more: it is still open, and can
// be read.
absl::Status move_to(Database& database, const std::string& place);

}  // namespace castscope::store
