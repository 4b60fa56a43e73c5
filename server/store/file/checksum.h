// A run file that was finished carries checksums of its tables. SQLite finds a page that cannot be; it does not find a
// number that is another one.
//
// From format 20 on, a file that tells the run's end has a checksum of each part: both come in one transaction, and go
// in one when the run goes on. So where one is missing, somebody or something took it away. A file that tells no end
// was not finished, and need not have any. Files of format 19 are checked as they were when they were new: they have no
// checksum of events, and one that is missing is not noticed (RunData::weakly_checked).
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/store/file/sqlite.h"

namespace castscope::store {

enum class Part {
  kEvidence,  // all that rules judge
  kShown,     // findings, text of source
  kEvents,    // the list of event blocks, with the checksum that each block has in itself
};

// Into the table `run`. The caller has begun a transaction.
absl::Status write_checksums(Database&);
// The same of one part, in a file that has the others.
absl::Status write_checksum(Database&, Part);
// Out of it again, together with the run's end.
absl::Status remove_checksums(Database&);
absl::StatusOr<bool> has_checksums(const Database&);  // any of them
// The file tells the run's end, or has any checksum: so it must have all of them.
absl::StatusOr<bool> was_finished(const Database&);

// Data loss when the part's checksum is not that of its rows, or is missing where there must be one.
absl::Status check_checksum(const Database&, Part);
absl::Status check_checksums(const Database&);  // of all parts

}  // namespace castscope::store
