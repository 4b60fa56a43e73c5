// Checksums are part of each transaction of a file that tells the run's end: at no moment, whatever kills the writer,
// does the file tell an end without checksums that are right (checksum.h).
#pragma once

#include "absl/status/status.h"
#include "server/store/file/sqlite.h"

namespace castscope::store {

class RightChecksums {
 public:
  absl::Status adopt(const Database&);  // a file that is written on
  void begin(const Database&);          // a transaction
  // The transaction's last change. `ended`: what it leaves tells the run's end.
  absl::Status before_commit(Database&, bool ended);

 private:
  bool in_file_ = false;
  int changes_before_ = 0;  // rows that had been changed when the transaction began
};

}  // namespace castscope::store
