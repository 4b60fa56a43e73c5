// A finished run file carries checksums of its tables. SQLite finds a page that cannot be; it does not find a number
// that is another one.
#pragma once

#include "absl/status/status.h"
#include "server/store/file/sqlite.h"

namespace castscope::store {

// Single events are in neither: a report needs none of them.
enum class Part {
  kEvidence,  // all that rules judge
  kShown,     // findings, text of source
};

// Into the table `run`, as the last thing that is written.
absl::Status write_checksums(Database&);
// Out of it again: the file goes on.
absl::Status remove_checksums(Database&);

// Data loss when the file has a checksum of this part and it is not that of its rows.
absl::Status check_checksum(const Database&, Part);

}  // namespace castscope::store
