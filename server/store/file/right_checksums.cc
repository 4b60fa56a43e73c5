#include "server/store/file/right_checksums.h"

#include <utility>

#include "server/store/file/checksum.h"

namespace castscope::store {

absl::Status RightChecksums::adopt(const Database& database) {
  const auto has_them = has_checksums(database);
  if (has_them.ok()) in_file_ = *has_them;
  return has_them.status();
}

void RightChecksums::begin(const Database& database) { changes_before_ = sqlite3_total_changes(database.handle()); }

absl::Status RightChecksums::before_commit(Database& database, bool ended) {
  if (sqlite3_total_changes(database.handle()) == changes_before_) return absl::OkStatus();
  if (!ended) return std::exchange(in_file_, false) ? remove_checksums(database) : absl::OkStatus();
  in_file_ = true;
  return write_checksums(database);
}

}  // namespace castscope::store
